/* The bakery over safe registers: a read that overlaps a write may return any value at all (Lamport 1974). On
 * such registers `choosing` and `number` stand apart, as in the paper; the code carries that form by the trait
 * Registers (core/src/algorithm/bakery.rs), while the lock file packs both into one word, which here is a mutant.
 *
 * MODELLED: what bakery_sc.pml says of locking, unlocking, dying and reaping. A write of `choosing` or `number` is two
 * steps, and in between every read returns any value of the register's range. One that is killed in between leaves the
 * register like that until it is written anew. The owner words `token`, `state` and `held` are atomic, as in the code:
 * the bakery needs no more than safe registers, but the owner-dead notice does (mutant HeldNotAtomic).
 *
 * LEFT OUT, against bakery_sc.pml: newcomers and `slots_in_use`, panics, resets, tries, and whose death the owner-dead
 * notice tells. Numbers above MOST: a participant that would need one gives up in its doorway, as it does in the
 * code at 2^62. And that the code takes a number above 2^62 for a damaged file: on safe registers it must read such a number
 * again instead.
 *
 * THE LABELS are the code's steps (core/src/trace.rs), as in bakery_sc.pml. `look` is Registers::read: `choosing`, then `number`.
 *
 * ASSERTED: EXCLUSION, ORDER, TOKEN, NOTICE and CLOSED as in bakery_sc.pml, and no invalid end state.
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
#ifndef MOST
#define MOST 4              /* the largest number */
#endif

/* ---- The file ------------------------------------------------------------------------------------------------------ */
#define IDLE 0              /* a Place, as in the packed word: 0, 1 = choosing, n + 1 = number n */
#define CHOOSING 1
#define CONSISTENT 0        /* Health */
#define INCONSISTENT 1
#define NOT_RECOVERABLE 2
byte registers[3 * N];
bit writing[3 * N];         /* its writer is in the middle of a write, or died there */
#define CHOOSING_OF(p) (p)
#define NUMBER_OF(p) (N + (p))
#define HELD_OF(p) (2 * N + (p))
byte lock_token;            /* LockWords::token */
byte lock_state;            /* LockWords::state */
bit left, right;            /* what the lock protects: equal, except while a holder is at work */

#define WRITE(r, value) STEP(writing[r] = 1; registers[r] = 0); STEP(registers[r] = value; writing[r] = 0)
#ifdef MUTANT_HeldNotAtomic
#define WRITE_HELD(p, value) WRITE(HELD_OF(p), value)
#else
#define WRITE_HELD(p, value) STEP(registers[HELD_OF(p)] = value)
#endif
inline read(r, value, most) {
    if
    :: !writing[r] -> value = registers[r]
    :: writing[r] -> value = 0; do :: value < most -> value++ :: break od
    fi
}

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
    :: atomic { rounds > 0 -> rounds--; if :: lock_state == NOT_RECOVERABLE -> goto take :: else fi }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;

choose:
    STEP(before[i] = queued; word_of_mine = CHOOSING; j = FIRST
#ifdef MUTANT_NoChoosing
        );
#elif defined(MUTANT_PackedWord)
         ; writing[NUMBER_OF(i)] = 1; registers[NUMBER_OF(i)] = 0);
    STEP(registers[NUMBER_OF(i)] = CHOOSING; writing[NUMBER_OF(i)] = 0);
#else
         ; writing[CHOOSING_OF(i)] = 1; registers[CHOOSING_OF(i)] = 0);
    STEP(registers[CHOOSING_OF(i)] = 1; writing[CHOOSING_OF(i)] = 0);
#endif
doorway:
    do
    :: j < N ->
#ifdef MUTANT_PackedWord
scan:   STEP(read(NUMBER_OF(j), t, MOST + 1); word_of_mine = (t > word_of_mine -> t : word_of_mine); t = 0; NEXT(j))
#else
scan:   STEP(read(CHOOSING_OF(j), t, 1));
        if
        :: atomic { t == 1 -> t = 0; NEXT(j) }
        :: atomic { t == 0 -> skip };
           STEP(read(NUMBER_OF(j), t, MOST); word_of_mine = (t + 1 > word_of_mine -> t + 1 : word_of_mine); t = 0; NEXT(j))
        fi
#endif
    :: else -> break
    od;
    j = 0;
    if
    :: atomic { word_of_mine > MOST -> goto withdraw }
    :: atomic { word_of_mine <= MOST -> word_of_mine++ }
    fi;
#ifdef MUTANT_PackedWord
    WRITE(NUMBER_OF(i), word_of_mine);
    queued = queued | BIT(i);
#else
#ifdef MUTANT_ChoosingClearedFirst
    WRITE(CHOOSING_OF(i), 0);
#endif
    WRITE(NUMBER_OF(i), word_of_mine - 1);
    STEP(writing[CHOOSING_OF(i)] = 1; registers[CHOOSING_OF(i)] = 0);
    STEP(writing[CHOOSING_OF(i)] = 0; queued = queued | BIT(i));
#endif

wait:   /* Of those before us, the latest is the one to wait for; one that is choosing, if there is no other. */
    j = FIRST;
    do
    :: j < N ->
#ifdef MUTANT_PackedWord
look:   STEP(read(NUMBER_OF(j), t, MOST + 1));
#elif defined(MUTANT_NumberReadFirst)
look:   STEP(read(NUMBER_OF(j), t, MOST); t = (t == 0 -> 0 : t + 1));
        STEP(read(CHOOSING_OF(j), k, 1); t = (k == 1 -> CHOOSING : t); k = 0);
#else
look:   STEP(read(CHOOSING_OF(j), t, 1));
        if
        :: atomic { t == 1 -> t = CHOOSING }
        :: atomic { t == 0 -> skip };
           STEP(read(NUMBER_OF(j), t, MOST); t = (t == 0 -> 0 : t + 1))
        fi;
#endif
        atomic {
             if
             :: t != IDLE && t >= seen &&
#ifdef MUTANT_NoTieBreak
                t < word_of_mine -> seen = t; q = j
#else
                (t < word_of_mine || (t == word_of_mine && j < i)) -> seen = t; q = j
#endif
             :: else
             fi;
             t = 0; NEXT(j)
        }
    :: else -> break
    od;
    if
    :: atomic { seen == 0 -> j = 0; goto won }
    :: atomic { seen != 0 -> j = 0 }
    fi;
blocked:
    if
#ifdef MUTANT_PackedWord
    :: atomic { writing[NUMBER_OF(q)] || registers[NUMBER_OF(q)] != seen -> seen = 0; q = 0; goto wait }
#else
    :: atomic { writing[CHOOSING_OF(q)] || registers[CHOOSING_OF(q)] != (seen == CHOOSING) ||
                (seen != CHOOSING && (writing[NUMBER_OF(q)] || registers[NUMBER_OF(q)] + 1 != seen)) ->
                seen = 0; q = 0; goto wait }
#endif
#if DEATHS > 0
    :: atomic { byte_lock[q] == 0 ->
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
         word_of_mine = 0; my_token = lock_token + 1);
token:
    STEP(lock_token = my_token; assert(my_token > last_token); last_token = my_token; my_token = 0);    /* TOKEN */
held:
#if !defined(MUTANT_NoHeld) && !defined(MUTANT_HeldAfterSection)
    WRITE_HELD(i, 1);
#endif

section:
    STEP(health = lock_state;
         if
         :: health == NOT_RECOVERABLE -> goto exit
         :: else -> working = working | BIT(i)
         fi;
         assert(!closed);    /* CLOSED */
         assert(health != CONSISTENT || (left == right && !torn)));    /* NOTICE */
#if DEATHS > 0
    if
    :: atomic { health == CONSISTENT -> skip }
    :: atomic { health == INCONSISTENT -> goto exit }           /* a holder that repairs nothing */
    :: atomic { health == INCONSISTENT -> skip };
       STEP(right = left);
       STEP(lock_state = CONSISTENT; health = CONSISTENT; torn = 0)         /* mark_consistent */
    fi;
#endif
    STEP(left = 1 - left);
#ifdef MUTANT_HeldAfterSection
    WRITE_HELD(i, 1);
#endif
    STEP(right = left);

exit:
    STEP(if
         :: lock_state == INCONSISTENT ->
            assert(health == INCONSISTENT);    /* NOTICE */
            lock_state = NOT_RECOVERABLE; closed = 1
         :: else
         fi;
         health = 0; working = working & ~BIT(i));
    WRITE_HELD(i, 0);
leave:
    STEP(writing[NUMBER_OF(i)] = 1; registers[NUMBER_OF(i)] = 0; inside = inside & ~BIT(i));
    STEP(writing[NUMBER_OF(i)] = 0);
#ifndef MUTANT_PackedWord
    WRITE(CHOOSING_OF(i), 0);
#endif
wake:
    goto take;

withdraw:
    STEP(word_of_mine = 0; before[i] = 0; OUT_OF_QUEUE(i); writing[NUMBER_OF(i)] = 1; registers[NUMBER_OF(i)] = 0);
    STEP(writing[NUMBER_OF(i)] = 0);
    WRITE(CHOOSING_OF(i), 0);
    goto wake;

#if DEATHS > 0
    /* ---- liveness::clear for q, with q's byte lock in hand. Every step may be repeated by the next reaper. ---- */
reap:
#ifdef MUTANT_ClearBeforeNotice
    WRITE(NUMBER_OF(q), 0);
    WRITE(CHOOSING_OF(q), 0);
#endif
    STEP(read(HELD_OF(q), t, 1); if :: t == 0 -> goto reap_notice :: else -> t = 0 fi);
    STEP(if :: lock_state == CONSISTENT -> lock_state = INCONSISTENT :: else fi);
    WRITE_HELD(q, 0);
reap_notice:
    WRITE(NUMBER_OF(q), 0);
    WRITE(CHOOSING_OF(q), 0);
reap_cleared:
    if
    :: atomic { attaching -> attaching = 0; q = 0; goto take }
    :: atomic { !attaching -> skip }
    fi;
    STEP(byte_lock[q] = (byte_lock[q] == i + 1 -> 0 : byte_lock[q]); q = 0);
    goto wait;

dead:   /* kill -9: memory stays as it is, the kernel drops the byte locks. A newcomer takes the slot, or none does. */
    atomic {
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

init {
    atomic {
        byte p = 0;
        do :: p < N -> byte_lock[p] = p + 1; run Participant(p); p++ :: else -> break od
    }
}
