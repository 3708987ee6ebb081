/* The mutex with the retained privilege, on x86 (total store order), or with PSO=1 on a machine whose stores overtake one
 * another: who retains the privilege enters with no fence at all, and who is at the head of the bakery's line takes it back.
 *
 * MODELLED: one lock of one file, and N slots. A participant first tries to enter as the one who retains the privilege: it
 * raises `held` to TRYING and looks whether `control` names it. If not, it goes through the bakery, as in bakery_tso.pml. At
 * the head of the line it is the *candidate*, the only one who writes `control`: it asks who retains the privilege, has every
 * processor pass a barrier (membarrier), and waits until the retainer's `held` is 0. Then it holds the lock plainly, or retains
 * it; which, is a free choice here. Store buffers, deaths at every step (DEATHS), reaping, and newcomers in a dead one's slot
 * are as in bakery_tso.pml; who is killed has its buffered stores reach memory before the kernel drops its byte locks. A
 * waiter may give up, or step out of the line and come back (WITHDRAWALS, both together); a holder may leave as a dead one does
 * (ABANDONS). With FENCED_MODE no membarrier is there: a retainer passes a full fence instead, and so does the candidate.
 *
 * membarrier: its caller passes a full fence, then each other participant's buffer has been empty at some moment, in any order,
 * before the call returns.
 *
 * LEFT OUT: what bakery_tso.pml leaves out, and the counts by which the code chooses between plain and retained; sleeping and
 * waking; how long a polite waiter stays away, and time limits; that FENCED_MODE is read from `control`, since it is the same for
 * all who use the file; that the code retains the privilege only if it sees nobody else insist on a place in the line, and
 * takes a request back only then, which is for the order among those who wait and not for safety; that it tries only where its own last entry was a
 * retained one or made it the retainer, and on the slower of two ways looks at `control` before it raises `held` (fewer
 * executions than here, where newcomers try too); that a slot is used by one thread at a time, which the code sees to. With
 * PSO=1, loads still happen in the order of the program.
 *
 * THE LABELS are the code's steps (src/trace.rs), as in bakery_sc.pml, and for the privilege:
 *   try                         Privilege::enter, `held` = TRYING: may we go in as the one who retains the privilege?
 *   won                         the head of the line: who retains the privilege?
 *   ask, ask_wait               the candidate, where somebody else does: membarrier, then the wait for `held` = 0
 *   settle                      the privilege is the candidate's
 *   retain                      `control` says so; the number is given up last
 *   polite                      out of the line, to come back
 * Labels beside those: claim, take, choose, scan, look, blocked, dead, gone as in bakery_sc.pml; begin (`held` = TRYING), let_go
 * (`held` = 0 again: it goes through the line after all), token and held (Ownership::enter), take_back (the candidate asks no
 * more), step_out (number = 0, to be polite).
 *
 * ASSERTED: TOKEN and CLOSED as in bakery_sc.pml, and
 *   EXCLUSION  one at a time, from `settle`, or from the look at `control` in `try`, to the end of `leave`
 *   ORDER      as in bakery_tso.pml among those who go through the line; and nobody who begins to `try` after the candidate's
 *              membarrier enters before it
 *   NEWS       who is told nothing finds the data whole, and nobody died holding the lock since the last repair; who is told
 *              of a death is told of a holder's; nobody closes the lock who was not told
 *   LENGTH     as in bakery_tso.pml
 * and by Spin itself NO DEADLOCK: no invalid end state, so nobody waits for ever.
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
#define FENCED_MODE 0       /* 1: full fences instead of membarrier */
#endif
#ifndef PSO
#define PSO 0               /* 1: stores may overtake one another */
#endif
#ifndef FENCE_AT_WAKE
#define FENCE_AT_WAKE 1     /* the fence of Bed::wake_sleepers: for the sleepers' sake, not for safety's; 0 leaves it out */
#endif
#ifndef LENGTH              /* from fence B to the next fence */
#if ROUNDS + AGAIN > 1      /* token, held, control, number, the section (2), held; each time more: TRYING, token, held, ... */
#define LENGTH (6 * (ROUNDS + AGAIN) + 1 + ABANDONS)
#else
#define LENGTH 9            /* control, token, held, a repair (2), the section (2), held, number */
#endif
#endif

/* ---- The file, as memory has it -------------------------------------------------------------------------------------- */
#define IDLE 0              /* the packed word: 0, 1 = choosing, n + 1 = number n */
#define CHOOSING 1
#define CONSISTENT 0        /* Health */
#define INCONSISTENT 1
#define NOT_RECOVERABLE 2
#define TRYING 15           /* in `held`: may be inside in a moment, or not */
#define ASKED 8             /* in `control`, beside r + 1: r retains the privilege and is to give it up */
#define WORD(p) (p)         /* LockView::numbers */
#define HELD(p) (N + (p))   /* Cell::held: 0, TRYING, or the fencing token of who is inside */
#define TOKEN (2 * N)       /* LockWords::token */
#define STATE (2 * N + 1)   /* LockWords::state */
#define CONTROL (2 * N + 2) /* LockWords::control: 0, or r + 1 where r retains the privilege */
#define LEFT (2 * N + 3)    /* what the lock protects: equal, except while a holder is at work */
#define RIGHT (2 * N + 4)
#define WORDS (2 * N + 5)
byte memory[WORDS];

/* ---- The store buffers: 16 * word + value, the oldest first ----------------------------------------------------------- */
byte buffer[N * LENGTH];
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
byte line;                  /* doorway finished; not yet settled, withdrawn or dead */
byte asking;                /* of the line: the candidate, after its membarrier */
byte before[N];             /* those of the line whom this one's entry must not overtake */
byte last_token;            /* the largest fencing token that anybody got */
bit torn;                   /* somebody died at work since the last repair */
bit news;                   /* somebody died with its token in `held` since the last repair */
bit closed;                 /* somebody left without the repair it was asked for */
byte deaths, withdrawals, abandons;

#define MAY_DIE atomic { deaths < DEATHS -> deaths++; goto dead }
#if DEATHS > 0
#define STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_DIE fi
#else
#define STEP(...) atomic { __VA_ARGS__ }
#endif

#define NEXT(j) j = (j + 1 == i -> j + 2 : j + 1)      /* the next slot that is not our own */
#define FIRST (i == 0 -> 1 : 0)
#define OUT_OF_LINE(p) line = line & ~BIT(p); asking = asking & ~BIT(p); k = 0; \
    do :: k < N -> before[k] = before[k] & ~BIT(p); k++ :: else -> k = 0; break od

/* How the lock is held. */
#define PLAIN 0             /* by the number */
#define RETAINED 1          /* by `control` and `held`, got at the head of the line */
#define FAST 2              /* likewise, got by `try` */

/* Where `reap` goes on when it is done. */
#define FOR_WAIT 0
#define FOR_ASK 1
#define FOR_ATTACH 2
#define FOR_ABANDON 3

#ifdef BUG_UnregisteredRetainer
#define REGISTERED(p) (p != 0)
#else
#define REGISTERED(p) 1
#endif
#define ALL_ROUNDS (i == 0 -> ROUNDS + AGAIN : ROUNDS)
#define DRAINED(p) atomic { t & BIT(p) && (buffered[p] == 0 || !REGISTERED(p)) -> t = t & ~BIT(p) }

proctype Participant(byte i) {
    byte j, k, word_of_mine, seen, q, t, my_token, health, rounds, way, after;

    atomic { rounds = ALL_ROUNDS; goto take };

#if DEATHS > 0
claim:  /* Whoever has the byte lock is the slot. First it finishes what a dead one left. */
    atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; rounds = ALL_ROUNDS; q = i; after = FOR_ATTACH };
attach:
    goto reap;
#endif

take:   /* One more entry, or done? */
    if
    :: atomic { rounds == 0 -> goto gone }
    :: atomic { rounds > 0 -> rounds--; load(STATE, health);
                if :: health == NOT_RECOVERABLE -> health = 0; goto take :: else -> health = 0 fi }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;

begin:  /* First as the one who retains the privilege. No fence is needed: the candidate has us pass one. */
#ifdef BUG_FlagAfterCheck
    STEP(load(CONTROL, t); before[i] = asking);
    STEP(store(HELD(i), TRYING));
#else
    STEP(store(HELD(i), TRYING); before[i] = asking);
try:
#if FENCED_MODE && !defined(BUG_NoFenceInFencedMode)
    STEP(FENCED);
#endif
    STEP(load(CONTROL, t));
#endif
#ifdef BUG_IgnoresAsked
    t = t & ~ASKED;
#endif
    if
    :: atomic { t == i + 1 -> t = 0;
                assert(inside == 0);    /* EXCLUSION */
                assert(before[i] == 0);    /* ORDER */
                inside = inside | BIT(i); way = FAST }
    :: atomic { t != i + 1 -> t = 0; before[i] = 0; goto let_go }
    fi;
#ifdef BUG_FastPathIgnoresState
    goto token;
#else
    STEP(load(STATE, t); if :: t == CONSISTENT -> goto token :: else -> t = 0 fi);
#endif
let_go: /* Not ours, or not to be taken without the line. */
    STEP(store(HELD(i), 0); inside = inside & ~BIT(i); way = PLAIN);

choose:
    STEP(before[i] = line; word_of_mine = CHOOSING; j = FIRST; store(WORD(i), CHOOSING));
doorway:
    STEP(FENCED);                                               /* fence A */
    do
    :: j < N ->
scan:   STEP(load(WORD(j), t); word_of_mine = (t > word_of_mine -> t : word_of_mine); t = 0; NEXT(j))
    :: else -> break
    od;
    STEP(j = 0; word_of_mine++; store(WORD(i), word_of_mine));
    STEP(FENCED; line = line | BIT(i));                         /* fence B */

wait:   /* Of those before us, the latest is the one to wait for; one who is choosing, if there is nobody else. */
    j = FIRST;
    do
    :: j < N ->
look:   STEP(load(WORD(j), t);
             if
             :: t != IDLE && t >= seen && (t < word_of_mine || (t == word_of_mine && j < i)) -> seen = t; q = j
             :: else
             fi;
             t = 0; NEXT(j))
    :: else -> break
    od;
    if
    :: atomic { seen == 0 -> j = 0; goto won }
    :: atomic { seen != 0 -> j = 0 }
    fi;
#ifdef BUG_ControlByWaiter
    STEP(load(CONTROL, t); if :: t != 0 && t != i + 1 -> store(CONTROL, t | ASKED) :: else fi; t = 0);
#endif
blocked:
    if
    :: atomic { memory[WORD(q)] != seen -> seen = 0; q = 0; goto wait }
#if DEATHS > 0
    :: atomic { byte_lock[q] == 0 && FENCED ->
#ifndef BUG_ReapWithoutByteLock
       byte_lock[q] = i + 1;
#endif
       seen = 0; after = FOR_WAIT; goto reap }
    :: MAY_DIE
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; seen = 0; q = 0; if :: goto withdraw :: goto step_out fi }
#endif
    fi;

won:    /* The head of the line. From here until the number is given up, `control` is ours alone to write. */
    STEP(load(CONTROL, q); q = q & ~ASKED;
         if :: q == 0 || q == i + 1 -> q = 0; goto settle :: else -> q-- fi);
#if WITHDRAWALS > 0
    if
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; q = 0; goto step_out }        /* a busy retainer is not asked */
    :: skip
    fi;
#endif
    STEP(store(CONTROL, (q + 1) | ASKED));
ask:    /* membarrier */
    STEP(FENCED; t = (1 << N) - 1 - BIT(i));
#if !FENCED_MODE && !defined(BUG_NoMembarrier)
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
    od;
#endif
    STEP(t = 0; asking = asking | BIT(i));
ask_wait:
    if
    :: atomic { memory[HELD(q)] == 0 -> q = 0; goto settle }
#if DEATHS > 0
    :: atomic { byte_lock[q] == 0 && FENCED ->
#ifndef BUG_ReapWithoutByteLock
       byte_lock[q] = i + 1;
#endif
       after = FOR_ASK; goto reap }
    :: MAY_DIE
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; goto take_back }
#endif
    fi;

settle: /* The privilege is ours. */
    STEP(assert(inside == 0);    /* EXCLUSION */
         assert(before[i] == 0);    /* ORDER */
         inside = inside | BIT(i); OUT_OF_LINE(i); word_of_mine = 0;
         load(STATE, t);
         if
         :: way = PLAIN
         :: t == CONSISTENT -> way = RETAINED
         fi;
         t = 0);
    if
    :: atomic { way == PLAIN -> skip };
       STEP(load(CONTROL, t); if :: t != 0 -> store(CONTROL, 0) :: else fi; t = 0)
    :: atomic { way == RETAINED -> skip }
    fi;

token:
    STEP(load(TOKEN, my_token); my_token++; assert(my_token < TRYING); store(TOKEN, my_token));
held:
#ifdef BUG_HeldAfterLeave
    if
    :: atomic { way == RETAINED -> skip };
       STEP(store(CONTROL, i + 1));
       STEP(store(WORD(i), IDLE))
    :: atomic { way != RETAINED -> skip }
    fi;
#endif
#ifdef BUG_NoHeld
    STEP(assert(my_token > last_token); last_token = my_token);
#else
    STEP(store(HELD(i), my_token); assert(my_token > last_token); last_token = my_token);    /* TOKEN */
#endif
    if
    :: atomic { way == RETAINED -> skip };
#ifdef BUG_LeaveBeforeControl
       STEP(store(WORD(i), IDLE));
       STEP(store(CONTROL, i + 1))
#elif !defined(BUG_HeldAfterLeave)
       STEP(store(CONTROL, i + 1));
retain:STEP(store(WORD(i), IDLE))
#endif
    :: atomic { way != RETAINED -> skip }
    fi;

section:
    STEP(load(STATE, health);
#ifdef BUG_FastPathIgnoresState
         health = (way == FAST -> CONSISTENT : health);
#endif
         if
         :: health == NOT_RECOVERABLE -> goto exit
         :: else -> working = working | BIT(i)
         fi;
         assert(!closed);    /* CLOSED */
         assert(health != CONSISTENT || (!torn && !news));    /* NEWS */
         assert(health != INCONSISTENT || news));    /* NEWS */
    STEP(load(LEFT, t); load(RIGHT, seen);
         assert(health != CONSISTENT || t == seen);    /* NEWS */
         t = 0; seen = 0);
#if DEATHS + ABANDONS > 0
    if
    :: atomic { health == CONSISTENT -> skip }
    :: atomic { health == INCONSISTENT -> goto exit }           /* a holder that repairs nothing */
    :: atomic { health == INCONSISTENT -> skip };
       STEP(load(LEFT, t); store(RIGHT, t); t = 0);
       STEP(store(STATE, CONSISTENT); health = CONSISTENT; torn = 0; news = 0)        /* mark_consistent */
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
            assert(health == INCONSISTENT);    /* NEWS */
            store(STATE, NOT_RECOVERABLE); closed = 1
         :: else
         fi;
         t = 0; health = 0; my_token = 0; working = working & ~BIT(i));
    STEP(store(HELD(i), 0); if :: way != PLAIN -> inside = inside & ~BIT(i) :: else fi);
leave:
    if
    :: atomic { way == PLAIN -> skip };
       STEP(store(WORD(i), IDLE); inside = inside & ~BIT(i))
    :: atomic { way != PLAIN -> skip };
       STEP(way = PLAIN; load(CONTROL, t); if :: t == i + 1 -> t = 0; goto take :: else -> t = 0 fi)   /* was anybody asking? */
#ifdef BUG_ControlByNonCandidate
       ;
       STEP(store(CONTROL, 0))
#endif
    fi;
wake:
#if FENCE_AT_WAKE
    STEP(FENCED);
#endif
    goto take;

#if WITHDRAWALS > 0
take_back:  /* Or it is left as it is, asked, which the code does where somebody behind in the line insists. */
    if
    :: STEP(store(CONTROL, q + 1); q = 0; OUT_OF_LINE(i))
    :: atomic { q = 0; OUT_OF_LINE(i) }
    fi;
    if :: goto withdraw :: goto step_out fi;

withdraw:
    STEP(store(WORD(i), IDLE); word_of_mine = 0; before[i] = 0; OUT_OF_LINE(i));
    goto wake;

step_out:
    STEP(store(WORD(i), IDLE); word_of_mine = 0; before[i] = 0; OUT_OF_LINE(i));
polite: /* To come back. */
#if FENCE_AT_WAKE
    STEP(FENCED);
#endif
    if :: goto begin :: goto choose fi;
#endif

#if ABANDONS > 0
abandon: /* A guard dropped by a panic: the lock is given back as by a dead holder. */
    atomic { abandons++; t = 0; torn = 1; news = 1; working = working & ~BIT(i); q = i; after = FOR_ABANDON; goto reap };
#endif

#if DEATHS + ABANDONS > 0
    /* ---- recovery::recover(q), with q's byte lock in hand. Every step may be repeated by the next reaper. ---- */
reap:
#ifdef BUG_ForgetBeforeNews
    STEP(store(WORD(q), IDLE));
#endif
    STEP(load(HELD(q), t);
         if
         :: t == 0 -> goto reap_news
#ifndef BUG_OwnerDeadByTrying
         :: t == TRYING -> t = 0; goto reap_held
#endif
         :: else -> t = 0
         fi);
#ifdef BUG_HeldBeforeNews
    STEP(store(HELD(q), 0));
#endif
    STEP(load(STATE, t); if :: t == CONSISTENT -> store(STATE, INCONSISTENT) :: else fi; t = 0);
reap_held:
    STEP(store(HELD(q), 0); if :: q == i && way != PLAIN -> inside = inside & ~BIT(i) :: else fi);
reap_news:
#ifdef BUG_ControlByReaper
    STEP(load(CONTROL, t); if :: (t & ~ASKED) == q + 1 -> store(CONTROL, 0) :: else fi; t = 0);
#endif
    STEP(store(WORD(q), IDLE); if :: q == i -> inside = inside & ~BIT(i) :: else fi);
reap_forgotten:
#if FENCE_AT_WAKE
    STEP(FENCED);                                               /* of wake_sleepers */
#endif
    if
    :: atomic { after == FOR_ATTACH -> q = 0; after = 0; goto take }
#if ABANDONS > 0
    :: atomic { after == FOR_ABANDON -> q = 0; after = 0; way = PLAIN; health = 0; my_token = 0; goto take }
#endif
#if DEATHS > 0
    :: atomic { after == FOR_ASK || after == FOR_WAIT -> skip };
       STEP(FENCED; byte_lock[q] = (byte_lock[q] == i + 1 -> 0 : byte_lock[q]));
       if
       :: atomic { after == FOR_ASK -> after = 0; goto ask_wait }
       :: atomic { after == FOR_WAIT -> q = 0; goto wait }
       fi
#endif
    fi;
#endif

#if DEATHS > 0
dead:   /* kill -9: what was stored reaches memory, then the kernel drops the byte locks. Somebody new comes, or nobody. */
    atomic { FENCED ->
        if :: working & BIT(i) -> torn = 1 :: else fi;
        if :: memory[HELD(i)] != 0 && memory[HELD(i)] != TRYING -> news = 1 :: else fi;
        inside = inside & ~BIT(i); working = working & ~BIT(i); before[i] = 0; OUT_OF_LINE(i);
        do :: k < N -> byte_lock[k] = (byte_lock[k] == i + 1 -> 0 : byte_lock[k]); k++ :: else -> break od;
        j = 0; k = 0; word_of_mine = 0; seen = 0; q = 0; t = 0; my_token = 0; health = 0; rounds = 0; way = 0; after = 0;
        if :: goto claim :: goto gone fi
    };
#endif
gone:
    skip
}

#if PSO
/* A store may overtake older ones of other words. Only these are release stores here, which overtake nothing: a number, a number
 * given up, and `held` = 0. The code has more of them. */
#define OF(m) (buffer[p * LENGTH + m] >> 4)
#define VALUE(m) (buffer[p * LENGTH + m] & 15)
#ifdef BUG_RelaxedLeave
#define NUMBER_IS_RELEASE 0
#else
#define NUMBER_IS_RELEASE 1
#endif
#ifdef BUG_RelaxedExit
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
