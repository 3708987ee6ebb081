/* The biased lock, on x86 (total store order), or with PSO=1 on a machine whose stores overtake one another: the bias owner
 * enters with no fence at all, and the head of the bakery's queue revokes the bias.
 *
 * MODELLED: one lock of one file, and N slots. A participant whose last acquisition was a biased one first tries to enter as the
 * bias owner: it raises `held` to TRYING and looks whether the bias word names it; not whether the lock is consistent. If not, it goes through the bakery, as in bakery_tso.pml. As the *queue head* it is
 * the only one that writes the bias word: it marks the bias as revoked, has every thread of its process pass a barrier
 * (membarrier; all participants are of one process), and waits until the bias owner's `held` is 0. Then it holds the lock
 * unbiased, or has it biased to itself; which, is a free choice here. Store buffers, deaths at every step (DEATHS), reaping, and
 * newcomers in a dead one's slot are as in bakery_tso.pml; the buffered stores of a killed participant reach memory before the
 * kernel drops its byte locks. A waiter may give up, or leave the queue and come back (WITHDRAWALS, both together); a holder may
 * unlock as a dead one does (ABANDONS). FENCED_MODE is a file of several processes: no membarrier, but a full fence in `try` and
 * in every entry step, and one of the queue head. How a file comes to that is in fences_tso.pml.
 *
 * A waiter behind another participant may pass over it, at any moment, whether that runs or not (EVICTIONS), until that has taken
 * its entry step. And a participant may take no step any more (STOPS), wherever it is but inside, in its entry step, or with
 * another slot's byte lock: then the others must come to their end without it. With BIASES=0 no participant has the lock biased.
 *
 * membarrier: its caller passes a full fence, then each other participant's buffer has been empty at some moment, in any order,
 * before the call returns.
 *
 * LEFT OUT: what bakery_tso.pml leaves out, and the counts by which the code chooses between unbiased and biased; parking; how
 * long a waiter that backs off stays away, and time limits; that each looks in the file which of the two
 * modes it is (fences_tso.pml); that the code has the lock biased only if it sees no other queued for good, and cancels a
 * revocation only then, which is for the order among the waiters and not for safety; that on the slower of two ways it looks at
 * the bias word before it raises `held`, and forgets that its last acquisition was a biased one when it gives up (fewer
 * executions than here); that a slot is used by one thread at a time, which the code sees to. With PSO=1, loads
 * still happen in the order of the program.
 *
 * THE LABELS are the code's steps (core/src/trace.rs), as in bakery_sc.pml, and for the bias (core/src/acquire/bias.rs,
 * core/src/acquire/queue.rs):
 *   try                         Bias::enter, `held` = TRYING: does the bias word still name it?
 *   won                         bias::enter_as_head: the entry step (Eviction::enter), then the look for the bias owner
 *   revoke, revoke_wait         bias::revoke, where it is another, and `held` = 0: membarrier, then the wait for the owner
 *   settle                      queue::settle: no other can be inside
 *   bias                        the bias word says so (Bias::begin); the number is given up last
 *   back_off                    QueueWait::back_off: out of the queue, to come back
 *   evict, passed_over          eviction::evict: the doorway is told that it lost its place; after membarrier, is it inside?
 *   evicted                     its entry step found that: `held` = 0, out of the queue, and into it again
 * Labels beside those: claim, take, choose, scan, look, blocked, dead, gone as in bakery_sc.pml; begin (`held` = TRYING), let_go
 * (`held` = 0 again: it goes through the queue after all), token and held (Ownership::enter), cancel
 * (Bias::cancel_revocation), lets_pass (number = 0, to back off).
 *
 * ASSERTED: TOKEN and CLOSED as in bakery_sc.pml, and
 *   EXCLUSION  one at a time, from `settle`, or from the look at the bias word in `try`, to `held` = 0
 *   ORDER      as in bakery_tso.pml among those that go through the queue, but for those that were passed over; and a bias
 *              owner that begins to `try` after the queue head's membarrier does not enter before it
 *   NOTICE     a holder that is told nothing finds the data intact, and no holder died with the lock since the last repair; one
 *              that is told of a death is told of a holder's; only one that was told closes the lock
 *   LENGTH     as in bakery_tso.pml
 * and by Spin itself NO DEADLOCK: no invalid end state, so no participant waits for ever.
 */
#ifndef N
#define N 2                 /* slots */
#endif
#ifndef ROUNDS
#define ROUNDS 2            /* how often a participant takes the lock */
#endif
#ifndef AGAIN
#define AGAIN 0             /* how often participant 0 takes it beyond that */
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef WITHDRAWALS
#define WITHDRAWALS 0
#endif
#ifndef ABANDONS
#define ABANDONS 0
#endif
#ifndef FENCED_MODE
#define FENCED_MODE 0       /* 1: the participants are of several processes: full fences instead of membarrier */
#endif
#ifndef BIASES
#define BIASES 1            /* 0: no queue head takes the bias, so that there is more room for evictions */
#endif
#ifndef EVICTIONS
#define EVICTIONS 0         /* how often a waiter passes over another that may well be running */
#endif
#ifndef STOPS
#define STOPS 0             /* how many participants take no step any more, once they are not inside; they may be passed over */
#endif
#ifndef PSO
#define PSO 0               /* 1: stores may overtake one another */
#endif
#ifndef FENCE_AT_WAKE
#define FENCE_AT_WAKE 1     /* the fence of Lock::unpark_waiters_of: for those parked, not for safety; 0 leaves it out */
#endif
#if EVICTIONS + STOPS > 0
#define MORE 1
#else
#define MORE 0
#endif
#ifndef LENGTH              /* from fence B to the next fence */
#if ROUNDS + AGAIN > 1      /* bias, token, held, bias, number, the section (2), held; each time more: TRYING, token, held, ... */
#define LENGTH (6 * (ROUNDS + AGAIN) + 3 + ABANDONS + MORE)
#else
#define LENGTH (10 + MORE)           /* bias (2), token, held, a repair (2), the section (2), held, number */
#endif
#endif

/* ---- The file, as memory has it -------------------------------------------------------------------------------------- */
#define IDLE 0              /* the packed word: 0, 1 = choosing, n + 1 = number n */
#define CHOOSING 1
#define CONSISTENT 0        /* Health */
#define INCONSISTENT 1
#define NOT_RECOVERABLE 2
#define TRYING 15           /* in `held`: may be inside in a moment, or not */
#define REVOKED 8           /* in the bias word, beside r + 1: the bias of r is being revoked */
#define WORD(p) (p)         /* LockView::numbers */
#define HELD(p) (N + (p))   /* Cell::held: 0, TRYING, or the fencing token of the holder */
#define TOKEN (2 * N)       /* LockWords::token */
#define STATE (2 * N + 1)   /* LockWords::state */
#define BIAS (2 * N + 2)    /* LockWords::bias: 0, or r + 1 where r is the bias owner */
#define LEFT (2 * N + 3)    /* what the lock protects: equal, except while a holder is at work */
#define RIGHT (2 * N + 4)
#if EVICTIONS + STOPS > 0
#define SEQUENCE(p) (2 * N + 5 + (p))   /* Cell::doorway: the number of the slot's doorway */
#define EVICTED(p) (3 * N + 5 + (p))    /* Cell::evicted: the latest of its doorways that others pass over */
#define WORDS (4 * N + 5)
#define ENTRY short
#else
#define WORDS (2 * N + 5)
#define ENTRY byte
#endif
byte memory[WORDS];

/* ---- The store buffers: 16 * word + value, the oldest first ----------------------------------------------------------- */
ENTRY buffer[N * LENGTH];
byte buffered[N];

inline drain(p, m) {        /* memory takes store m of p, the oldest being 0 */
    d_step {
        memory[buffer[p * LENGTH + m] >> 4] = buffer[p * LENGTH + m] & 15;
        buffered[p]--;
        k = m;
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

/* ---- What only the checker knows ------------------------------------------------------------------------------------ */
#define BIT(p) (1 << (p))
byte inside;                /* between settle, or a try that found its own name, and leave */
byte working;               /* told that the lock is its own, and not yet giving it back */
byte queued;                /* doorway finished; not yet settled, withdrawn or dead */
byte revoking;              /* of those: the queue head, after its membarrier */
byte before[N];             /* those of the queue that this one's entry must not overtake */
byte last_token;            /* the largest fencing token given out */
bit torn;                   /* a holder died at work since the last repair */
bit notice_due;             /* a holder died with its token in `held` since the last repair */
bit closed;                 /* a holder left without the repair it owed */
byte deaths, withdrawals, abandons, evictions, stops;
byte halted;               /* those that take no step any more */

#define MAY_DIE atomic { deaths < DEATHS -> deaths++; goto dead }
#define MAY_STOP atomic { stops < STOPS -> stops++; halted = halted | BIT(i); goto halts }
#if DEATHS > 0
#define STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_DIE fi
#else
#define STEP(...) atomic { __VA_ARGS__ }
#endif
/* A step at which others must be able to pass over a participant that does not come. */
#if STOPS > 0 && DEATHS > 0
#define WAITING_STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_DIE :: MAY_STOP fi
#elif STOPS > 0
#define WAITING_STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_STOP fi
#else
#define WAITING_STEP(...) STEP(__VA_ARGS__)
#endif

#define NEXT(j) j = (j + 1 == i -> j + 2 : j + 1)      /* the next slot that is not our own */
#define FIRST (i == 0 -> 1 : 0)
#define OUT_OF_QUEUE(p) queued = queued & ~BIT(p); revoking = revoking & ~BIT(p); k = 0; \
    do :: k < N -> before[k] = before[k] & ~BIT(p); k++ :: else -> k = 0; break od

/* How the lock is held. */
#define UNBIASED 0          /* by the number */
#define BIASED 1            /* by the bias word and `held`, got as the queue head */
#define FAST 2              /* likewise, got by `try` */

/* Where `reap` goes on when it is done. */
#define FOR_WAIT 0
#define FOR_REVOKE 1
#define FOR_ATTACH 2
#define FOR_ABANDON 3

#ifdef MUTANT_NoFenceBesideAnother
#define REGISTERED(p) (p != 0)
#else
#define REGISTERED(p) 1
#endif
#if EVICTIONS + STOPS > 0
#define PASSED(p) (passed & BIT(p))
#else
#define PASSED(p) 0
#endif
#define PASS_OVER(p) before[i] = before[i] & ~BIT(p); revoking = revoking & ~BIT(p)
#define OTHER(p) (3 - i - (p))
#define BEFORE_ME(p) (!PASSED(p) && memory[WORD(p)] != IDLE && \
    (memory[WORD(p)] < word_of_mine || (memory[WORD(p)] == word_of_mine && p < i)))
#define MAY_EVICT(p) (evictions < EVICTIONS || halted & BIT(p))
#define EVICT(p) if :: halted & BIT(p) :: else -> evictions++ fi
#ifdef MUTANT_EvictsByNumber
#define IF_EVICTED if :: t == word_of_mine -> goto evicted :: else -> t = 0 fi
#else
#define IF_EVICTED load(SEQUENCE(i), seen); if :: t == seen -> seen = 0; goto evicted :: else -> t = 0; seen = 0 fi
#endif
#define ALL_ROUNDS (i == 0 -> ROUNDS + AGAIN : ROUNDS)
#define DRAINED(p) atomic { t & BIT(p) && (buffered[p] == 0 || !REGISTERED(p)) -> t = t & ~BIT(p) }

proctype Participant(byte i) {
    byte j, k, word_of_mine, seen, q, t, my_token, health, rounds, way, after, revoked;
    bit was_biased;             /* its last acquisition was a biased one: what LocalState says of one that holds nothing */
#if EVICTIONS + STOPS > 0
    byte passed;
#endif

    atomic { rounds = ALL_ROUNDS; goto take };

#if DEATHS > 0
claim:  /* The slot is that of the holder of its byte lock. First it finishes what a dead one left. */
    atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; rounds = ALL_ROUNDS; q = i; after = FOR_ATTACH };
attach:
    goto reap;
#endif

take:   /* One more acquisition, or the end. */
    if
    :: atomic { rounds == 0 -> goto gone }
    :: atomic { rounds > 0 -> rounds--; load(STATE, health);
                if :: health == NOT_RECOVERABLE -> health = 0; goto take :: else -> health = 0 fi }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;

begin:
#if !BIASES
    goto choose;
#endif
#ifndef MUTANT_BiasOfFormerLife
    if
    :: atomic { !was_biased -> goto choose }
    :: atomic { was_biased -> skip }
    fi;
#endif
/* First as the bias owner. No fence is needed: the queue head has us pass one. */
#ifdef MUTANT_FlagAfterCheck
    STEP(load(BIAS, t); before[i] = revoking);
    STEP(store(HELD(i), TRYING));
#else
    STEP(store(HELD(i), TRYING); before[i] = revoking);
try:
#if FENCED_MODE && !defined(MUTANT_NoFenceInFencedMode)
    STEP(FENCED);
#endif
    STEP(load(BIAS, t));
#endif
#ifdef MUTANT_IgnoresRevocation
    t = t & ~REVOKED;
#endif
    if
    :: atomic { t == i + 1 -> t = 0;
                assert(inside == 0);    /* EXCLUSION */
                assert(before[i] == 0);    /* ORDER */
                inside = inside | BIT(i); way = FAST }
    :: atomic { t != i + 1 -> t = 0; before[i] = 0; goto let_go }
    fi;
    goto token;                 /* The lock is consistent: see NOTICE in `section`. */
let_go: /* Not biased to us. */
    STEP(store(HELD(i), 0); inside = inside & ~BIT(i); way = UNBIASED);

choose:
#if EVICTIONS + STOPS > 0
    WAITING_STEP(load(SEQUENCE(i), t); t++; passed = 0;
#ifndef MUTANT_SequenceAfterChoosing
         store(SEQUENCE(i), t); t = 0;
#endif
         before[i] = queued; word_of_mine = CHOOSING; j = FIRST; store(WORD(i), CHOOSING));
#ifdef MUTANT_SequenceAfterChoosing
    WAITING_STEP(store(SEQUENCE(i), t); t = 0);
#endif
#else
    STEP(before[i] = queued; word_of_mine = CHOOSING; j = FIRST; store(WORD(i), CHOOSING));
#endif
doorway:
    WAITING_STEP(FENCED);                                               /* fence A */
    do
    :: j < N ->
scan:   WAITING_STEP(load(WORD(j), t); word_of_mine = (t > word_of_mine -> t : word_of_mine); t = 0; NEXT(j))
    :: else -> break
    od;
    WAITING_STEP(j = 0; word_of_mine++; store(WORD(i), word_of_mine));
    WAITING_STEP(FENCED; queued = queued | BIT(i));                 /* fence B */

wait:   /* Of those before us, the latest is the one to wait for; one that is choosing, if there is no other. */
    j = FIRST;
    do
    :: j < N ->
look:   WAITING_STEP(load(WORD(j), t);
             if
#if EVICTIONS + STOPS > 0
             :: passed & BIT(j)
#endif
             :: t != IDLE && t >= seen && !PASSED(j) && (t < word_of_mine || (t == word_of_mine && j < i)) -> seen = t; q = j
             :: else
             fi;
             t = 0; NEXT(j))
    :: else -> break
    od;
    if
    :: atomic { seen == 0 -> j = 0; goto won }
    :: atomic { seen != 0 -> j = 0 }
    fi;
#ifdef MUTANT_BiasByWaiter
    STEP(load(BIAS, t); if :: t != 0 && t != i + 1 -> store(BIAS, t | REVOKED) :: else fi; t = 0);
#endif
blocked:
    if
    :: atomic { memory[WORD(q)] != seen -> seen = 0; q = 0; goto wait }
#if DEATHS > 0
    :: atomic { byte_lock[q] == 0 && FENCED ->
#ifndef MUTANT_ReapWithoutByteLock
       byte_lock[q] = i + 1;
#endif
       seen = 0; after = FOR_WAIT; goto reap }
    :: MAY_DIE
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; seen = 0; q = 0; if :: goto withdraw :: goto lets_pass fi }
#endif
#if EVICTIONS + STOPS > 0
    :: atomic { MAY_EVICT(q) -> EVICT(q); goto evict }
#if N > 2
    :: atomic { MAY_EVICT(OTHER(q)) && BEFORE_ME(OTHER(q)) -> EVICT(OTHER(q)); q = OTHER(q); goto evict }
#endif
#endif
#if STOPS > 0
    :: MAY_STOP
#endif
    fi;

#if EVICTIONS + STOPS > 0
evict: /* Telling it that it lost its place. It may be inside, or on the way in: then it is waited for. */
    WAITING_STEP(seen = 0; load(SEQUENCE(q), t));
#ifdef MUTANT_BelievesEviction
    if
    :: atomic { memory[EVICTED(q)] == t -> t = 0; passed = passed | BIT(q); PASS_OVER(q); q = 0; goto wait }
    :: atomic { memory[EVICTED(q)] != t }
    fi;
#endif
#ifdef MUTANT_EvictsByStore
    WAITING_STEP(store(EVICTED(q), t); t = 0);
#elif defined(MUTANT_EvictsByNumber)
    WAITING_STEP(FENCED; t = memory[WORD(q)]; if :: t != IDLE -> memory[EVICTED(q)] = t :: else fi; t = 0);
#else
    WAITING_STEP(FENCED;                                        /* fetch_max */
         if
         :: memory[EVICTED(q)] > t -> t = 0; q = 0; goto wait
         :: else -> memory[EVICTED(q)] = t; t = 0
         fi);
#endif
    WAITING_STEP(FENCED; t = (1 << N) - 1 - BIT(i));
#if !FENCED_MODE && !defined(MUTANT_NoFenceToEvict)
    do
    :: DRAINED(0)
    :: DRAINED(1)
#if N > 2
    :: DRAINED(2)
#endif
    :: atomic { t == 0 -> break }
#if DEATHS > 0
    :: MAY_DIE
#endif
#if STOPS > 0
    :: MAY_STOP
#endif
    od;
#endif
passed_over:
    WAITING_STEP(
#ifdef MUTANT_EvictsHolder
         t = 0;
#else
         load(HELD(q), t);
#endif
         if
         :: t == 0 -> passed = passed | BIT(q); PASS_OVER(q)
         :: else
         fi;
         t = 0; q = 0; goto wait);
#endif

won:    /* The queue head, unless it lost its place. From here until `held` is 0 again, no waiter passes over us, and the bias word
         * is ours alone to write. */
#ifdef MUTANT_EntryCheckBeforeFlag
    STEP(load(EVICTED(i), t); IF_EVICTED);
    STEP(store(HELD(i), TRYING));
#else
    STEP(store(HELD(i), TRYING));
#if FENCED_MODE && !defined(MUTANT_NoFenceInFencedMode)
    STEP(FENCED);
#endif
#if EVICTIONS + STOPS > 0
    STEP(load(EVICTED(i), t); IF_EVICTED);
#endif
#endif
    STEP(load(BIAS, q);
         if :: revoked && q == (revoked | REVOKED) -> q = 0; revoked = 0; goto settle :: else -> revoked = 0 fi;
         q = q & ~REVOKED;
         if :: q == 0 || q == i + 1 -> q = 0; goto settle :: else -> q-- fi);
#if WITHDRAWALS > 0
    if
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; q = 0; goto not_now }   /* the bias of a busy owner is let be */
    :: skip
    fi;
#endif
#ifdef MUTANT_RevokesOutsideEntry
    STEP(store(HELD(i), 0));
    WAITING_STEP(store(BIAS, (q + 1) | REVOKED));
#else
    STEP(store(BIAS, (q + 1) | REVOKED));
    STEP(store(HELD(i), 0));
#endif
revoke:    /* membarrier */
    WAITING_STEP(FENCED; t = (1 << N) - 1 - BIT(i));
#if !FENCED_MODE && !defined(MUTANT_NoMembarrier)
    do
    :: DRAINED(0)
    :: DRAINED(1)
#if N > 2
    :: DRAINED(2)
#endif
    :: atomic { t == 0 -> break }
#if DEATHS > 0
    :: MAY_DIE
#endif
#if STOPS > 0
    :: MAY_STOP
#endif
    od;
#endif
#if EVICTIONS + STOPS > 0
    /* One that was told that it lost its place may have been passed over: it is owed no ORDER. */
    WAITING_STEP(t = 0; if :: memory[EVICTED(i)] == memory[SEQUENCE(i)] :: else -> revoking = revoking | BIT(i) fi);
#else
    WAITING_STEP(t = 0; revoking = revoking | BIT(i));
#endif
revoke_wait:
    if
    :: atomic { memory[HELD(q)] == 0 -> revoked = q + 1; q = 0; goto won }
#if DEATHS > 0
    :: atomic { byte_lock[q] == 0 && FENCED ->
#ifndef MUTANT_ReapWithoutByteLock
       byte_lock[q] = i + 1;
#endif
       after = FOR_REVOKE; goto reap }
    :: MAY_DIE
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; goto cancel }
#endif
#if STOPS > 0
    :: MAY_STOP
#endif
    fi;

settle: /* No other can be inside. */
    STEP(assert(inside == 0);    /* EXCLUSION */
         assert(before[i] == 0);    /* ORDER */
         inside = inside | BIT(i); OUT_OF_QUEUE(i); word_of_mine = 0;
         load(STATE, t);
         if
         :: way = UNBIASED
#if BIASES
         :: t == CONSISTENT -> way = BIASED
#endif
         fi;
         t = 0);
#ifdef MUTANT_NoUnbiasBeforeBias
    if
    :: atomic { way == UNBIASED -> skip };
       STEP(load(BIAS, t); if :: t != 0 -> store(BIAS, 0) :: else fi; t = 0)
    :: atomic { way == BIASED -> skip }
    fi;
#else
    STEP(load(BIAS, t); if :: t != 0 -> store(BIAS, 0) :: else fi; t = 0);
#endif

token:
    STEP(load(TOKEN, my_token); my_token++; assert(my_token < TRYING); store(TOKEN, my_token));
held:
#ifdef MUTANT_NoHeld
    STEP(assert(my_token > last_token); last_token = my_token);
#else
    STEP(store(HELD(i), my_token); assert(my_token > last_token); last_token = my_token);    /* TOKEN */
#endif
    if
    :: atomic { way == BIASED -> skip };
#ifdef MUTANT_LeaveBeforeBias
       STEP(store(WORD(i), IDLE));
       STEP(store(BIAS, i + 1))
#else
       STEP(store(BIAS, i + 1));
bias:  STEP(store(WORD(i), IDLE))
#endif
    :: atomic { way != BIASED -> skip }
    fi;

section:
    STEP(load(STATE, health); health = (way == FAST -> CONSISTENT : health);    /* The fast path does not look. */
         if
         :: health == NOT_RECOVERABLE -> goto exit
         :: else -> working = working | BIT(i)
         fi;
         assert(!closed);    /* CLOSED */
         assert(health != CONSISTENT || (!torn && !notice_due));    /* NOTICE */
         assert(health != INCONSISTENT || notice_due));    /* NOTICE */
    STEP(load(LEFT, t); load(RIGHT, seen);
         assert(health != CONSISTENT || t == seen);    /* NOTICE */
         t = 0; seen = 0);
#if DEATHS + ABANDONS > 0
    if
    :: atomic { health == CONSISTENT -> skip }
    :: atomic { health == INCONSISTENT -> goto exit }           /* a holder that repairs nothing */
    :: atomic { health == INCONSISTENT -> skip };
       STEP(load(LEFT, t); store(RIGHT, t); t = 0);
       STEP(store(STATE, CONSISTENT); health = CONSISTENT; torn = 0; notice_due = 0)        /* mark_consistent */
    fi;
#endif
    STEP(load(LEFT, t); t = 1 - t; store(LEFT, t));
#if ABANDONS > 0
    if
    :: atomic { abandons < ABANDONS -> goto abandon }
    :: skip
    fi;
#endif
    STEP(store(RIGHT, t); t = 0);

exit:
    STEP(load(STATE, t);
         if
         :: t == INCONSISTENT ->
            assert(health == INCONSISTENT);    /* NOTICE */
            store(STATE, NOT_RECOVERABLE); closed = 1
         :: else
         fi;
         t = 0; health = 0; my_token = 0; working = working & ~BIT(i));
    STEP(store(HELD(i), 0); inside = inside & ~BIT(i));
leave:
    if
    :: atomic { way == UNBIASED -> was_biased = 0 };
       WAITING_STEP(store(WORD(i), IDLE))
    :: atomic { way != UNBIASED -> was_biased = 1 };
       STEP(way = UNBIASED; load(BIAS, t); if :: t == i + 1 -> t = 0; goto take :: else -> t = 0 fi)   /* is it being revoked? */
#ifdef MUTANT_BiasByNonHead
       ;
       STEP(store(BIAS, 0))
#endif
    fi;
wake:
#if FENCE_AT_WAKE
    STEP(FENCED);
#endif
    goto take;

#if EVICTIONS + STOPS > 0
evicted: /* A waiter behind us passed over us: to the end of the queue. */
    STEP(t = 0; q = 0; revoked = 0; store(HELD(i), 0));
    WAITING_STEP(store(WORD(i), IDLE); word_of_mine = 0; before[i] = 0; OUT_OF_QUEUE(i));
#if FENCE_AT_WAKE
    WAITING_STEP(FENCED);
#endif
    goto choose;
#endif

#if WITHDRAWALS > 0
not_now:
    STEP(store(HELD(i), 0));
    goto lets_pass;

cancel: /* By an entry step of its own, unless it lost its place. Or it is left as it is, revoked, as the code does where a
         * waiter behind is queued for good. */
    if
    :: atomic { skip };
#if EVICTIONS + STOPS > 0 && !defined(MUTANT_CancelsOutsideEntry)
       STEP(store(HELD(i), TRYING));
#if FENCED_MODE
       STEP(FENCED);
#endif
       STEP(load(EVICTED(i), t); load(SEQUENCE(i), seen); if :: t == seen -> q = 0 :: else -> q++ fi; t = 0; seen = 0);
       STEP(if :: q != 0 -> store(BIAS, q) :: else fi; q = 0; OUT_OF_QUEUE(i));
       STEP(store(HELD(i), 0))
#else
       STEP(store(BIAS, q + 1); q = 0; OUT_OF_QUEUE(i))
#endif
    :: atomic { q = 0; OUT_OF_QUEUE(i) }
    fi;
    if :: goto withdraw :: goto lets_pass fi;

withdraw:
    STEP(store(WORD(i), IDLE); word_of_mine = 0; before[i] = 0; OUT_OF_QUEUE(i));
    goto wake;

lets_pass:
    STEP(store(WORD(i), IDLE); word_of_mine = 0; before[i] = 0; OUT_OF_QUEUE(i));
back_off: /* To come back. */
#if FENCE_AT_WAKE
    STEP(FENCED);
#endif
    if :: goto begin :: goto choose fi;
#endif

#if ABANDONS > 0
abandon: /* A guard dropped by a panic: the lock is given back as by a dead holder. */
    atomic { abandons++; t = 0; torn = 1; notice_due = 1; working = working & ~BIT(i); q = i; after = FOR_ABANDON; goto reap };
#endif

#if DEATHS + ABANDONS > 0
    /* ---- liveness::clear for q, with q's byte lock in hand. Every step may be repeated by the next reaper. ---- */
reap:
#ifdef MUTANT_ClearBeforeNotice
    STEP(store(WORD(q), IDLE));
#endif
    STEP(load(HELD(q), t);
         if
         :: t == 0 -> goto reap_notice
#ifndef MUTANT_OwnerDeadByTrying
         :: t == TRYING -> t = 0; goto reap_held
#endif
         :: else -> t = 0
         fi);
#ifdef MUTANT_HeldBeforeNotice
    STEP(store(HELD(q), 0));
#endif
    STEP(load(STATE, t); if :: t == CONSISTENT -> store(STATE, INCONSISTENT) :: else fi; t = 0);
reap_held:
    STEP(store(HELD(q), 0); if :: q == i -> inside = inside & ~BIT(i) :: else fi);
reap_notice:
#ifdef MUTANT_BiasByReaper
    STEP(load(BIAS, t); if :: (t & ~REVOKED) == q + 1 -> store(BIAS, 0) :: else fi; t = 0);
#endif
    STEP(store(WORD(q), IDLE); if :: q == i -> inside = inside & ~BIT(i) :: else fi);
reap_cleared:
#if FENCE_AT_WAKE
    STEP(FENCED);                                               /* of Lock::unpark_waiters_of */
#endif
    if
    :: atomic { after == FOR_ATTACH -> q = 0; after = 0; goto take }
#if ABANDONS > 0
    :: atomic { after == FOR_ABANDON -> q = 0; after = 0; way = UNBIASED; was_biased = 0; health = 0; my_token = 0; goto take }
#endif
#if DEATHS > 0
    :: atomic { after == FOR_REVOKE || after == FOR_WAIT -> skip };
       STEP(FENCED; byte_lock[q] = (byte_lock[q] == i + 1 -> 0 : byte_lock[q]));
       if
       :: atomic { after == FOR_REVOKE -> after = 0; goto revoke_wait }
       :: atomic { after == FOR_WAIT -> q = 0; goto wait }
       fi
#endif
    fi;
#endif

#if DEATHS > 0
dead:   /* kill -9: what was stored reaches memory, then the kernel drops the byte locks. A newcomer comes, or none. */
    atomic { FENCED ->
        if :: working & BIT(i) -> torn = 1 :: else fi;
        if :: memory[HELD(i)] != 0 && memory[HELD(i)] != TRYING -> notice_due = 1 :: else fi;
        inside = inside & ~BIT(i); working = working & ~BIT(i); before[i] = 0; OUT_OF_QUEUE(i);
        do :: k < N -> byte_lock[k] = (byte_lock[k] == i + 1 -> 0 : byte_lock[k]); k++ :: else -> break od;
        j = 0; k = 0; word_of_mine = 0; seen = 0; q = 0; t = 0; my_token = 0; health = 0; rounds = 0; way = 0; after = 0; revoked = 0; was_biased = 0;
#if EVICTIONS + STOPS > 0
        passed = 0;
#endif
        if :: goto claim :: goto gone fi
    };
#endif
#if STOPS > 0
halts:
end_halted:
    atomic { false -> skip };
#endif
gone:
    skip
}

#if PSO
/* A store may overtake older ones of other words. Only these are release stores here, which overtake nothing: a number, a number
 * given up, and `held` = 0. The code has more of them. */
#define OF(m) (buffer[p * LENGTH + m] >> 4)
#define VALUE(m) (buffer[p * LENGTH + m] & 15)
#ifdef MUTANT_RelaxedLeave
#define NUMBER_IS_RELEASE 0
#else
#define NUMBER_IS_RELEASE 1
#endif
#ifdef MUTANT_RelaxedExit
#define HELD_IS_RELEASE 0
#else
#define HELD_IS_RELEASE 1
#endif
#define RELEASE(m) ((OF(m) < N && (VALUE(m) > CHOOSING || (VALUE(m) == IDLE && NUMBER_IS_RELEASE))) \
                    || (OF(m) >= N && OF(m) < 2 * N && VALUE(m) == 0 && HELD_IS_RELEASE))
#define TAKE(x) atomic { buffered[x] > 0 -> p = x; \
        do :: m + 1 < buffered[p] -> m++ :: break od;               /* any of them, */ \
        do :: k < m && OF(k) != OF(m) -> k++ :: else -> break od;   /* the oldest of that word, */ \
        m = (RELEASE(k) -> 0 : k); k = 0;                           /* and before a release store all older ones */ \
        drain(p, m); m = 0; p = 0 }
#else
#define TAKE(x) atomic { buffered[x] > 0 -> drain(x, 0) }
#endif

proctype Memory() {
    byte k;
#if PSO
    byte m, p;
#endif
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
        do :: p < N -> byte_lock[p] = p + 1; run Participant(p); p++ :: else -> break od;
        run Memory()
    }
}
