/* Which fences a file needs, on x86 (total store order): none but the compiler's as long as all participants are of one process,
 * which has its own threads pass a barrier; full fences for all from when a second process comes; and how the one becomes
 * the other while they go on.
 *
 * MODELLED: one biased lock of one file, and N slots, whose participants are of several processes. The word `sole_process` of the
 * file says which processes take part: UNDECIDED, none yet; the mark of a process, whose participants are the only ones; CHANGING, while
 * a newcomer of another process is on its way in; SEVERAL. A newcomer sees to it before it takes part. A bias owner that
 * tries, stores `held` = TRYING and looks at `sole_process`: with its own mark there it passes no fence, else a full one; then it
 * looks at the bias word. (With LOOKS_FIRST=1 that look comes first, as on a machine whose loads overtake one another, and again
 * after the full fence.) A revoker passes a full fence and looks at `sole_process`: its own mark, and it has the threads of its
 * process pass a barrier (PRIVATE); SEVERAL, and there is nothing to do; else it has all threads there are pass one (GLOBAL).
 * Deaths at every step (DEATHS), of one participant at a time; newcomers of any process in a dead one's slot; participants that
 * detach and come again (SESSIONS); a revocation that is given up (WITHDRAWALS). A participant that finds that no other takes part,
 * and has all byte locks in hand, may set `sole_process` back (RESTARTS; here from SEVERAL too, which the code leaves as it is). And
 * one without a slot, of any process, may pass the heavy barrier (OUTSIDER).
 *
 * With PARKING a revoker sleeps until it is woken. A leaving bias owner looks at the bias word, without a fence. So in a file of
 * several processes the wake-up may be missed, and there every sleep ends by itself (the nap); after a barrier, PRIVATE or GLOBAL,
 * the wake-up must come, here. A nap is over when there is something to do, and not before: else a stuck revoker would be between two
 * naps for ever.
 *
 * A barrier: its caller passes a full fence, then the buffer of each participant that it reaches has been empty at some moment,
 * in any order, before the call returns. PRIVATE reaches those of the caller's process, GLOBAL all. (Linux has a third one, for
 * those that registered for it, MEMBARRIER_CMD_GLOBAL_EXPEDITED. Since 5.11 that misses processors, as MissedProcessor does.)
 *
 * LEFT OUT: the queue, which is a lock that is taken and given back in one step each, without order, and so the entry step of its
 * head (biased_tso.pml); data, fencing tokens and the owner-dead notice; retained places and readers, whose barriers are the
 * same; that participants of one process die together (here one by one, also without a step of others in between); fork, which
 * makes a new process with a new mark; a kernel that refuses the barriers.
 *
 * THE LABELS are the code's steps (src/attach/barrier.rs, core/src/algorithm/light_barrier.rs):
 *   claim, restart              the byte lock of the slot; OpenFile::choose_barrier_mode: all byte locks, and `sole_process` = UNDECIDED
 *   attach, share               OpenFile::settle_barriers: the look at `sole_process`; it is CHANGING: GLOBAL, then SEVERAL
 *   take, try, let_go           Bias::enter, with FileBarrier::pass at `try`; `held` = 0 again
 *   queue, won                  the revoker, from the queue's lock on
 *   revoke, revoke_wait, asleep bias::pass_the_barrier (OpenFile::heavy_barrier), bias::wait_until_outside
 *   settle, leave, cancel, reap as in biased_tso.pml
 *   detach                      the byte lock given back
 *
 * ASSERTED: EXCLUSION, one at a time, from `settle` or the look at the bias word, to `held` = 0 or the queue's lock given back, and
 * none by the bias once the one without a slot has seen all outside; LENGTH, a buffer is long enough; and by Spin itself
 * NO DEADLOCK: no participant is stuck in the change, whichever dies in it, and none sleeps for ever.
 *
 * MUTANTS: -DMUTANT_name, as README.md says.
 */
#ifndef N
#define N 3                 /* slots */
#endif
#ifndef PROCESS_0           /* the process of each slot's first participant: 1, 2 or 3 */
#define PROCESS_0 1
#endif
#ifndef PROCESS_1
#define PROCESS_1 1
#endif
#ifndef PROCESS_2
#define PROCESS_2 2
#endif
#ifndef ROUNDS              /* how often a participant takes the lock in a session */
#define ROUNDS 1
#endif
#ifndef AGAIN
#define AGAIN 1             /* how often participant 0 takes it beyond that */
#endif
#ifndef SESSIONS
#define SESSIONS 1          /* how often a participant attaches */
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef WITHDRAWALS
#define WITHDRAWALS 0
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef NEWCOMERS
#define NEWCOMERS 1         /* 0: no newcomer takes the place of a dead one */
#endif
#ifndef PARKING
#define PARKING 0
#endif
#ifndef LOOKS_FIRST
#define LOOKS_FIRST 0       /* 1: the look at the bias word overtakes the one at `sole_process` */
#endif
#ifndef OUTSIDER
#define OUTSIDER 0          /* the process of one that takes no part, and passes the heavy barrier; 0: none */
#endif
#define ALL_ROUNDS (i == 0 -> ROUNDS + AGAIN : ROUNDS)
#ifndef LENGTH              /* held, bias, queue, held, and each time more: TRYING, 0 */
#define LENGTH (2 * (ROUNDS + AGAIN) + 4)
#endif

/* ---- The file, as memory has it -------------------------------------------------------------------------------------- */
#define HELD(p) (p)         /* Cell::held: 0 or TRYING, which here is also what it is inside */
#define TRYING 15
#define BIAS N              /* LockWords::bias: 0, or r + 1 where r is the bias owner, */
#define REVOKED 8           /* with this beside it while the bias is being revoked */
#define QUEUE (N + 1)       /* for the whole queue: 0, or p + 1 where p is its head */
#define SOLE_PROCESS (N + 2)  /* the header's: UNDECIDED, a process, CHANGING or SEVERAL */
#define UNDECIDED 0
#define CHANGING 8
#define SEVERAL 9
#define STOP (N + 3)        /* of the one without a slot: no bias owner may come in by the bias any more */
byte memory[N + 4];

/* ---- The store buffers: 16 * word + value, the oldest first ----------------------------------------------------------- */
byte buffer[N * LENGTH];
byte buffered[N];

inline drain(p) {           /* memory takes the oldest store of p */
    d_step {
        memory[buffer[p * LENGTH] >> 4] = buffer[p * LENGTH] & 15;
        buffered[p]--;
        k = 0;
        do
        :: k < buffered[p] -> buffer[p * LENGTH + k] = buffer[p * LENGTH + k + 1]; k++
        :: else -> break
        od;
        buffer[p * LENGTH + k] = 0; k = 0
    }
}
inline load(word, value) {
    value = memory[word]; k = 0;
    do
    :: k < buffered[i] ->
       if :: buffer[i * LENGTH + k] >> 4 == word -> value = buffer[i * LENGTH + k] & 15 :: else fi;
       k++
    :: else -> break
    od;
    k = 0
}
inline store(word, value) {
    assert(buffered[i] < LENGTH && value < 16);                 /* LENGTH */
    buffer[i * LENGTH + buffered[i]] = 16 * (word) + value; buffered[i]++
}
#define FENCED buffered[i] == 0

/* ---- The kernel ---------------------------------------------------------------------------------------------------- */
byte byte_lock[N];          /* 0 = free, p + 1 = participant p has it */
byte process[N];            /* of which process a slot's participant is */
#if PARKING
byte parked[N];             /* p + 1: sleeps at slot p */
#define AWAKE(p) parked[p] = 0
#else
#define AWAKE(p) skip
#endif

/* ---- What only the checker knows ------------------------------------------------------------------------------------ */
#define BIT(p) (1 << (p))
byte inside;
#if OUTSIDER
byte fast;                  /* of those, the ones that came in by `try` */
bit shut;                   /* the one without a slot has seen all outside */
#endif
byte deaths, withdrawals, restarts;

#define MAY_DIE atomic { deaths < DEATHS -> deaths++; goto dead }
#if DEATHS > 0
#define STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_DIE fi
#else
#define STEP(...) atomic { __VA_ARGS__ }
#endif
#define FIRST (i == 0 -> 1 : 0)
#define NEXT(j) j = (j + 1 == i -> j + 2 : j + 1)
#ifdef MUTANT_SameMark
#define MARK 1
#else
#define MARK process[i]     /* a random number that the process has drawn */
#endif

/* ---- Barriers ---- */
#ifdef MUTANT_NoFenceInFencedMode
#define NEEDS_FENCE(v) (v != MARK && v != SEVERAL)
#elif defined(MUTANT_NoFenceWhileChanging)
#define NEEDS_FENCE(v) (v != MARK && v != CHANGING)
#else
#define NEEDS_FENCE(v) (v != MARK)
#endif
#if OUTSIDER
#define LOOK load(BIAS, t); t = (memory[STOP] -> 0 : t)
#define LEFT fast = fast & ~BIT(i);
#else
#define LOOK load(BIAS, t)
#define LEFT
#endif
#define EVERYBODY ((1 << N) - 1 - BIT(i))
#define MATE(p) (p != i && process[p] == process[i] -> BIT(p) : 0)
#if N == 2
#define OF_THE_PROCESS (MATE(0) + MATE(1))
#else
#define OF_THE_PROCESS (MATE(0) + MATE(1) + MATE(2))
#endif
#ifdef MUTANT_MissedProcessor
#define IS_REACHED(p) (p != 0)
#else
#define IS_REACHED(p) 1
#endif
#define DRAINED(p) atomic { t & BIT(p) && (buffered[p] == 0 || !IS_REACHED(p)) -> t = t & ~BIT(p) }
#if N == 2
#define ALL_DRAINED :: DRAINED(0) :: DRAINED(1) :: atomic { t == 0 -> break }
#else
#define ALL_DRAINED :: DRAINED(0) :: DRAINED(1) :: DRAINED(2) :: atomic { t == 0 -> break }
#endif
#if DEATHS > 0
#define PASS_BARRIER do ALL_DRAINED :: MAY_DIE od
#else
#define PASS_BARRIER do ALL_DRAINED od
#endif

#if PARKING
#define UNPARK_IF(p, is) parked[p] = (is -> 0 : parked[p])
#define WAKE(p) STEP(FENCED; UNPARK_IF(0, parked[0] == p + 1); UNPARK_IF(1, parked[1] == p + 1); UNPARK_IF(N - 1, parked[N - 1] == p + 1))
#else
#define WAKE(p) skip
#endif
#define GIVE_BACK(p) byte_lock[p] = (byte_lock[p] == i + 1 -> 0 : byte_lock[p])

/* Where `reap` goes on when it is done. */
#define FOR_ATTACH 0
#define FOR_QUEUE 1
#define FOR_REVOKE 2

proctype Participant(byte i) {
    byte j, k, q, t, v, rounds, after;
    byte sessions = SESSIONS;
    bit biased;

    goto claim;
#if DEATHS > 0 && NEWCOMERS
newcomer: /* Of any of the processes. */
    if
    :: atomic { process[i] = PROCESS_0 }
#if PROCESS_1 != PROCESS_0
    :: atomic { process[i] = PROCESS_1 }
#endif
#if N > 2 && PROCESS_2 != PROCESS_0 && PROCESS_2 != PROCESS_1
    :: atomic { process[i] = PROCESS_2 }
#endif
    fi;
#endif

claim:  /* The slot is that of the holder of its byte lock. Before it takes part, it finishes what a dead one left. */
    if
    :: atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; sessions--; rounds = ALL_ROUNDS; q = i; after = FOR_ATTACH }
    fi;
#if RESTARTS > 0
restart:
    if
    :: atomic { restarts < RESTARTS -> restarts++; j = FIRST };
#ifndef MUTANT_RestartsWithoutLocks
       do
       :: atomic { j < N && byte_lock[j] == 0 -> byte_lock[j] = i + 1; NEXT(j) }
       :: atomic { j < N && byte_lock[j] != 0 -> goto restarted }      /* a participant takes part */
       :: atomic { j >= N -> break }
#if DEATHS > 0
       :: MAY_DIE
#endif
       od;
#endif
       STEP(store(SOLE_PROCESS, UNDECIDED));
restarted:
       STEP(FENCED; j = FIRST; do :: j < N -> GIVE_BACK(j); NEXT(j) :: else -> j = 0; break od)
    :: skip
    fi;
#endif

attach: /* Which fences: before we take part, all must know of us. */
    STEP(load(SOLE_PROCESS, v);
         if
         :: v == MARK || v == SEVERAL -> v = 0; goto reap
#ifdef MUTANT_TakesPartWhileChanging
         :: v == CHANGING -> v = 0; goto reap
#endif
         :: else
         fi);
    if
    :: atomic { v == UNDECIDED -> skip };
#ifdef MUTANT_TakesByStore
       STEP(store(SOLE_PROCESS, MARK); v = 0; goto reap)
#else
       STEP(FENCED; if :: memory[SOLE_PROCESS] == UNDECIDED -> memory[SOLE_PROCESS] = MARK :: else fi; v = 0; goto attach)
#endif
    :: atomic { v != UNDECIDED && v != CHANGING -> skip };
#ifdef MUTANT_SharesAtOnce
       STEP(FENCED; if :: memory[SOLE_PROCESS] == v -> memory[SOLE_PROCESS] = SEVERAL :: else -> v = 0; goto attach fi)
#else
       STEP(FENCED; if :: memory[SOLE_PROCESS] == v -> memory[SOLE_PROCESS] = CHANGING :: else -> v = 0; goto attach fi)
#endif
#ifdef MUTANT_FinishesWithoutBarrier
    :: atomic { v == CHANGING -> v = 0 };
       STEP(FENCED; if :: memory[SOLE_PROCESS] == CHANGING -> memory[SOLE_PROCESS] = SEVERAL :: else fi; goto attach)
#else
    :: atomic { v == CHANGING -> skip }
#endif
    fi;
share:
    STEP(FENCED; v = 0; t = EVERYBODY);
#ifdef MUTANT_SharesWithoutBarrier
    atomic { t = 0 };
#else
    PASS_BARRIER;
#endif
    STEP(FENCED; if :: memory[SOLE_PROCESS] == CHANGING -> memory[SOLE_PROCESS] = SEVERAL :: else fi);
    goto attach;

take:   /* One more acquisition, or the end. First as the bias owner. */
    if
    :: atomic { rounds == 0 -> goto detach }
    :: atomic { rounds > 0 -> rounds-- }
    fi;
#ifdef MUTANT_ModeBeforeFlag
    STEP(load(SOLE_PROCESS, v));
    STEP(store(HELD(i), TRYING));
#else
    STEP(store(HELD(i), TRYING));
#if LOOKS_FIRST
    STEP(LOOK);
#endif
try:
    STEP(load(SOLE_PROCESS, v));
#endif
    if
    :: atomic { NEEDS_FENCE(v) -> v = 0 };
       STEP(FENCED);
#ifndef MUTANT_NoSecondLook
       STEP(LOOK)
#endif
    :: atomic { !NEEDS_FENCE(v) -> v = 0 };
#if !LOOKS_FIRST
       STEP(LOOK)
#endif
    fi;
    if
    :: atomic { t == i + 1 -> t = 0;
                assert(inside == 0);    /* EXCLUSION */
#if OUTSIDER
                assert(!shut);    /* EXCLUSION */
                fast = fast | BIT(i);
#endif
                inside = inside | BIT(i); biased = 1; goto section }
    :: atomic { t != i + 1 -> goto let_go }
    fi;
let_go: /* Not biased to us. A revoker may have seen us try. */
    STEP(store(HELD(i), 0));
    if
    :: atomic { t == (REVOKED | (i + 1)) -> t = 0 }; WAKE(i)
    :: atomic { t != (REVOKED | (i + 1)) -> t = 0 }
    fi;

queue:
    if
    :: atomic { FENCED && memory[QUEUE] == 0 -> memory[QUEUE] = i + 1 }
#if DEATHS > 0
    :: atomic { FENCED && memory[QUEUE] != 0 && byte_lock[memory[QUEUE] - 1] == 0 ->
                q = memory[QUEUE] - 1; byte_lock[q] = i + 1; after = FOR_QUEUE; goto reap }
    :: MAY_DIE
#endif
    fi;
won:    /* The bias word is ours alone to write. */
    STEP(load(BIAS, q); q = q & ~REVOKED; if :: q == 0 || q == i + 1 -> q = 0; goto settle :: else -> q-- fi);
    STEP(store(BIAS, REVOKED | (q + 1)));
revoke:
    STEP(FENCED);
    STEP(load(SOLE_PROCESS, v);
         if
         :: v == SEVERAL -> skip
         :: v == MARK -> t = OF_THE_PROCESS
#ifdef MUTANT_SkipsWhileChanging
         :: v == CHANGING -> skip
#elif defined(MUTANT_TakesPartWhileChanging)
         :: v == CHANGING -> t = OF_THE_PROCESS
#endif
         :: else -> t = EVERYBODY
         fi);
#ifdef MUTANT_NoMembarrier
    atomic { t = 0 };
#endif
    PASS_BARRIER;
revoke_wait:
    if
    :: atomic { memory[HELD(q)] == 0 -> v = 0; q = 0; goto settle }
#if PARKING
    :: atomic { memory[HELD(q)] != 0 -> parked[i] = q + 1 }
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; goto cancel }
#endif
#if DEATHS > 0
    :: atomic { byte_lock[q] == 0 && FENCED -> byte_lock[q] = i + 1; after = FOR_REVOKE; goto reap }
    :: MAY_DIE
#endif
    fi;
#if PARKING
asleep:
    if
    :: atomic { parked[i] == 0 -> goto revoke_wait }
#ifndef MUTANT_NoNap
    :: atomic { v == SEVERAL && memory[HELD(q)] == 0 -> parked[i] = 0; goto revoke_wait }       /* the nap is over */
#endif
#if DEATHS > 0
    :: atomic { byte_lock[q] == 0 -> parked[i] = 0; goto revoke_wait }                          /* it is, if a participant died */
    :: MAY_DIE
#endif
    fi;
#endif
#if WITHDRAWALS > 0
cancel: /* Or the bias stays as it is, revoked. */
    if
    :: atomic { skip }; STEP(store(BIAS, q + 1))
    :: atomic { skip }
    fi;
    STEP(store(QUEUE, 0); v = 0; q = 0);
    goto take;
#endif

settle: /* No other can be inside. */
    STEP(assert(inside == 0);    /* EXCLUSION */
         inside = inside | BIT(i); if :: biased = 0 :: biased = 1 fi);
    if
    :: atomic { biased -> skip };
       STEP(store(HELD(i), TRYING));
       STEP(store(BIAS, i + 1));
       STEP(store(QUEUE, 0))
    :: atomic { !biased -> skip };
       STEP(load(BIAS, t); if :: t != 0 -> store(BIAS, 0) :: else fi; t = 0)
    fi;

section:
    if
    :: atomic { biased -> biased = 0 };
       STEP(LEFT store(HELD(i), 0); inside = inside & ~BIT(i));
leave: STEP(load(BIAS, t); if :: t == i + 1 -> t = 0; goto take :: else -> t = 0 fi);      /* is it being revoked? */
       WAKE(i)
    :: atomic { !biased -> skip };
       STEP(store(QUEUE, 0); inside = inside & ~BIT(i))
    fi;
    goto take;

detach:
    STEP(FENCED; byte_lock[i] = 0);
    if
    :: atomic { sessions > 0 -> goto claim }
    :: atomic { sessions == 0 -> goto gone }
    fi;

    /* ---- liveness::clear for q, with q's byte lock in hand. ---- */
reap:
    STEP(load(HELD(q), t); if :: t != 0 -> store(HELD(q), 0) :: else fi; t = 0);
    STEP(load(QUEUE, t); if :: t == q + 1 -> store(QUEUE, 0) :: else fi; t = 0);
    WAKE(q);
    if
    :: atomic { after == FOR_ATTACH -> q = 0; goto take }
#if DEATHS > 0
    :: atomic { after != FOR_ATTACH -> skip };
       STEP(FENCED; GIVE_BACK(q));
       if
       :: atomic { after == FOR_REVOKE -> after = 0; goto revoke_wait }
       :: atomic { after == FOR_QUEUE -> after = 0; q = 0; goto queue }
       fi
#endif
    fi;

#if DEATHS > 0
dead:   /* kill -9: what was stored reaches memory, then the kernel drops the byte locks. A newcomer comes, or none. */
    atomic { FENCED ->
        LEFT inside = inside & ~BIT(i); AWAKE(i);
        GIVE_BACK(0); GIVE_BACK(1); GIVE_BACK(N - 1);
        j = 0; q = 0; t = 0; v = 0; rounds = 0; after = 0; biased = 0; sessions = 1;
#if NEWCOMERS
        if :: goto newcomer :: goto gone fi
#else
        goto gone
#endif
    };
#endif
gone:
    skip
}

#if OUTSIDER
/* A process without a slot (src/kind/claimed.rs, resize): it says something, passes the heavy barrier (where none takes part yet it
 * needs none, though the code has a GLOBAL one there), and waits until each is outside that may not have seen it. The full fence
 * comes right after its store. With two slots. */
#define IS_OF(p) (process[p] == OUTSIDER -> BIT(p) : 0)
#define IS_OUTSIDE(p) (memory[HELD(p)] == 0 || byte_lock[p] == 0)
proctype Outsider() {
    byte t;

    atomic { memory[STOP] = 1 };
    atomic { t = (memory[SOLE_PROCESS] == SEVERAL || memory[SOLE_PROCESS] == UNDECIDED -> 0 :
                  (memory[SOLE_PROCESS] == OUTSIDER -> IS_OF(0) + IS_OF(1) : BIT(0) + BIT(1))) };
#ifdef MUTANT_NoMembarrier
    atomic { t = 0 };
#endif
    do :: DRAINED(0) :: DRAINED(1) :: atomic { t == 0 -> break } od;
    atomic { IS_OUTSIDE(0) && IS_OUTSIDE(1) -> assert(fast == 0); shut = 1 }    /* EXCLUSION */
}
#endif

#define TAKE(x) atomic { buffered[x] > 0 -> drain(x) }
proctype Memory() {
    byte k;
end_idle:
    do
    :: TAKE(0)
    :: TAKE(1)
#if N > 2
    :: TAKE(2)
#endif
    od
}

init {
    atomic {
        byte p = 0;
        process[0] = PROCESS_0; process[1] = PROCESS_1;
#if N > 2
        process[2] = PROCESS_2;
#endif
        do :: p < N -> run Participant(p); p++ :: else -> break od;
#if OUTSIDER
        run Outsider();
#endif
        run Memory()
    }
}
