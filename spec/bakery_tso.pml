/* The bakery in the lock file on x86 (total store order): which fences it needs, and that it needs no more.
 *
 * MODELLED: what bakery_sc.pml says of locking, unlocking, dying and reaping, but every store goes first into a buffer of
 * its participant, oldest first, from which memory takes it at any later time (process Memory); a load sees its own
 * participant's buffered stores, and else memory. A full fence waits until the own buffer is empty, and so does what asks
 * the kernel (its locks are read-modify-writes). The buffered stores of a killed participant reach memory, and only then does
 * the kernel drop its byte locks. The buffer holds LENGTH stores, asserted to be as many as there ever are between two fences, so
 * nothing is lost against the longer ones of real processors.
 *
 * LEFT OUT, against bakery_sc.pml: newcomers and `slots_in_use`, panics, resets, tries, and whose death the owner-dead
 * notice tells. And weaker memory than x86's: that, and what compilers may do, is loom's part; hence the mutant RelaxedLeave
 * does no harm here.
 *
 * THE LABELS are the code's steps (core/src/trace.rs), as in bakery_sc.pml.
 *
 * ASSERTED: EXCLUSION, ORDER, TOKEN, NOTICE and CLOSED as in bakery_sc.pml (a doorway is finished when fence B is passed: with
 * the number still in the buffer it is not), LENGTH as said above, and no invalid end state.
 */
#ifndef N
#define N 2                 /* slots */
#endif
#ifndef ROUNDS
#define ROUNDS 1            /* how often a participant takes the lock */
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef WITHDRAWALS
#define WITHDRAWALS 0
#endif
#ifndef FENCE_AT_WAKE
#define FENCE_AT_WAKE 1     /* the fence of Lock::unpark_waiters_of: for those parked, not for safety; 0 leaves it out */
#endif
#ifndef LENGTH
#if FENCE_AT_WAKE
#define LENGTH 8            /* token, held, a repair (2), the section (2), held, number: from fence B to the next fence */
#else
#define LENGTH 9            /* and choosing */
#endif
#endif

/* ---- The file, as memory has it -------------------------------------------------------------------------------------- */
#define IDLE 0              /* the packed word: 0, 1 = choosing, n + 1 = number n */
#define CHOOSING 1
#define CONSISTENT 0        /* Health */
#define INCONSISTENT 1
#define NOT_RECOVERABLE 2
#define WORD(p) (p)         /* LockView::numbers */
#define HELD(p) (N + (p))   /* Cell::held */
#define TOKEN (2 * N)       /* LockWords::token */
#define STATE (2 * N + 1)   /* LockWords::state */
#define LEFT (2 * N + 2)    /* what the lock protects: equal, except while a holder is at work */
#define RIGHT (2 * N + 3)
#define WORDS (2 * N + 4)
byte memory[WORDS];

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

/* ---- What only the checker knows ------------------------------------------------------------------------------------ */
#define BIT(p) (1 << (p))
byte inside;                /* between won and leave */
byte working;               /* told that the lock is its own, and not yet giving it back */
byte queued;                /* doorway finished; not yet won, withdrawn or dead */
byte before[N];             /* those of the queue that had finished their doorway when this one began its own */
byte last_token;            /* the largest fencing token given out */
bit torn;                   /* a holder died at work since the last repair */
bit closed;                 /* a holder left without the repair it owed */
byte deaths, withdrawals;

#define MAY_DIE atomic { deaths < DEATHS -> deaths++; goto dead }
#if DEATHS > 0
#define STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_DIE fi
#else
#define STEP(...) atomic { __VA_ARGS__ }
#endif

#define NEXT(j) j = (j + 1 == i -> j + 2 : j + 1)      /* the next slot that is not our own */
#define FIRST (i == 0 -> 1 : 0)
#define OUT_OF_QUEUE(p) queued = queued & ~BIT(p); k = 0; \
    do :: k < N -> before[k] = before[k] & ~BIT(p); k++ :: else -> k = 0; break od

proctype Participant(byte i) {
    byte j, k, word_of_mine, seen, q, t, my_token, health, rounds;
    bit attaching;

    atomic { rounds = ROUNDS; goto take };

#if DEATHS > 0
claim:  /* The slot is that of the holder of its byte lock. First it finishes what a dead one left. */
    atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; rounds = ROUNDS; q = i; attaching = 1 };
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

choose:
    STEP(before[i] = queued; word_of_mine = CHOOSING; j = FIRST
#ifndef MUTANT_NoChoosing
         ; store(WORD(i), CHOOSING)
#endif
        );
doorway:
#ifndef MUTANT_NoFenceAfterChoosing
    STEP(FENCED);                                               /* fence A */
#endif
    do
    :: j < N ->
scan:   STEP(load(WORD(j), t); word_of_mine = (t > word_of_mine -> t : word_of_mine); t = 0; NEXT(j))
    :: else -> break
    od;
    STEP(j = 0; word_of_mine++; store(WORD(i), word_of_mine)
#ifdef MUTANT_NoFenceBeforeWait
         ; queued = queued | BIT(i)
#endif
        );
#ifndef MUTANT_NoFenceBeforeWait
    STEP(FENCED; queued = queued | BIT(i));                         /* fence B */
#endif

wait:   /* Of those before us, the latest is the one to wait for; one that is choosing, if there is no other. */
    j = FIRST;
    do
    :: j < N ->
look:   STEP(load(WORD(j), t);
             if
             :: t != IDLE && t >= seen &&
#ifdef MUTANT_NoTieBreak
                t < word_of_mine -> seen = t; q = j
#else
                (t < word_of_mine || (t == word_of_mine && j < i)) -> seen = t; q = j
#endif
             :: else
             fi;
             t = 0; NEXT(j))
    :: else -> break
    od;
    if
    :: atomic { seen == 0 -> j = 0; goto won }
    :: atomic { seen != 0 -> j = 0 }
    fi;
blocked:
    if
    :: atomic { memory[WORD(q)] != seen -> seen = 0; q = 0; goto wait }
#if DEATHS > 0
    :: atomic { byte_lock[q] == 0 && FENCED ->
#ifndef MUTANT_ReapWithoutByteLock
       byte_lock[q] = i + 1;
#endif
       seen = 0; goto reap }
    :: MAY_DIE
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; seen = 0; q = 0; goto withdraw }
#endif
    fi;

won:
    STEP(assert(inside == 0);    /* EXCLUSION */
         assert(before[i] == 0);    /* ORDER */
         inside = inside | BIT(i); OUT_OF_QUEUE(i);
         word_of_mine = 0; load(TOKEN, my_token); my_token++);
token:
    STEP(store(TOKEN, my_token));
held:
#if defined(MUTANT_NoHeld) || defined(MUTANT_HeldAfterSection)
    STEP(assert(my_token > last_token); last_token = my_token);
#else
    STEP(store(HELD(i), my_token); assert(my_token > last_token); last_token = my_token);    /* TOKEN */
#endif

section:
    STEP(load(STATE, health);
         if
         :: health == NOT_RECOVERABLE -> goto exit
         :: else -> working = working | BIT(i)
         fi;
         assert(!closed);    /* CLOSED */
         assert(health != CONSISTENT || !torn));    /* NOTICE */
    STEP(load(LEFT, t); load(RIGHT, seen);
         assert(health != CONSISTENT || t == seen);    /* NOTICE */
         t = 0; seen = 0);
#if DEATHS > 0
    if
    :: atomic { health == CONSISTENT -> skip }
    :: atomic { health == INCONSISTENT -> goto exit }           /* a holder that repairs nothing */
    :: atomic { health == INCONSISTENT -> skip };
       STEP(load(LEFT, t); store(RIGHT, t); t = 0);
       STEP(store(STATE, CONSISTENT); health = CONSISTENT; torn = 0)        /* mark_consistent */
    fi;
#endif
    STEP(load(LEFT, t); t = 1 - t; store(LEFT, t));
#ifdef MUTANT_HeldAfterSection
    STEP(store(HELD(i), my_token));
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
    STEP(store(HELD(i), 0));
leave:
    STEP(store(WORD(i), IDLE); inside = inside & ~BIT(i));
wake:
#if FENCE_AT_WAKE
    STEP(FENCED);
#endif
    goto take;

#if WITHDRAWALS > 0
withdraw:
    STEP(store(WORD(i), IDLE); word_of_mine = 0; before[i] = 0; OUT_OF_QUEUE(i));
    goto wake;
#endif

#if DEATHS > 0
    /* ---- liveness::clear for q, with q's byte lock in hand. Every step may be repeated by the next reaper. ---- */
reap:
#ifdef MUTANT_ClearBeforeNotice
    STEP(store(WORD(q), IDLE));
#endif
    STEP(load(HELD(q), t); if :: t == 0 -> goto reap_notice :: else -> t = 0 fi);
    STEP(load(STATE, t); if :: t == CONSISTENT -> store(STATE, INCONSISTENT) :: else fi; t = 0);
    STEP(store(HELD(q), 0));
reap_notice:
    STEP(store(WORD(q), IDLE));
reap_cleared:
#if FENCE_AT_WAKE
    STEP(FENCED);                                               /* of Lock::unpark_waiters_of */
#endif
    if
    :: atomic { attaching -> attaching = 0; q = 0; goto take }
    :: atomic { !attaching -> skip }
    fi;
    STEP(FENCED; byte_lock[q] = (byte_lock[q] == i + 1 -> 0 : byte_lock[q]); q = 0);
    goto wait;

dead:   /* kill -9: what was stored reaches memory, then the kernel drops the byte locks. A newcomer comes, or none. */
    atomic { FENCED ->
        if :: working & BIT(i) -> torn = 1 :: else fi;
        inside = inside & ~BIT(i); working = working & ~BIT(i); before[i] = 0; OUT_OF_QUEUE(i);
        do :: k < N -> byte_lock[k] = (byte_lock[k] == i + 1 -> 0 : byte_lock[k]); k++ :: else -> break od;
        j = 0; k = 0; word_of_mine = 0; seen = 0; q = 0; t = 0; my_token = 0; health = 0; rounds = 0; attaching = 0;
        if :: goto claim :: goto gone fi
    };
#endif
gone:
    skip
}

proctype Memory() {
    byte k;
end_idle:
    do
    :: atomic { buffered[0] > 0 -> drain(0) }
    :: atomic { buffered[1] > 0 -> drain(1) }
#if N > 2
    :: atomic { buffered[2] > 0 -> drain(2) }
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
