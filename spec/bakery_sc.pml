/* The bakery in the lock file, with death in it, where every participant sees every access at once (sequential consistency).
 *
 * MODELLED: one lock of one file, and N slots. A participant takes a slot by the byte lock, finishes what a dead one left
 * there, has `slots_in_use` reach it, takes the lock ROUNDS times and detaches. It may be killed before every step,
 * whatever it is doing (DEATHS times in all); the kernel then drops its byte locks, and a new participant takes the slot, or
 * none ever does. A waiter behind a dead one reaps it, and may be killed at that too. A waiter may give up (time limit,
 * cancel; WITHDRAWALS times in all), or only try (TRIES). A holder repairs the data of a dead one or does not, and may leave
 * by a panic (ABANDONS). A participant that finds the lock closed may reset it (RESETS).
 *
 * LEFT OUT: store buffers (bakery_tso.pml), registers that are not atomic (bakery_safe.pml), compilers (loom's part); the
 * directory and other locks; sleeping and waking, on which safety never depends: a wait is a guard here, and a waiter may
 * check at any time whether its blocker is alive; numbers near 2^62 and other garbage; pids, labels and times, which are for
 * people; the truncated or replaced file. That two newcomers cannot both get one byte lock is the kernel's word.
 *
 * THE LABELS are the code's steps (core/src/trace.rs). A STEP has at most one access to a word that another participant may write.
 *   attach, detach              Attachment::attach, Attachment::detach (src/attach/attachment.rs)
 *   doorway, wait               QueueWait::doorway, QueueWait::reach_the_head (core/src/acquire/queue.rs), which call
 *                               Bakery::doorway and Bakery::blocker (core/src/algorithm/bakery.rs)
 *   won, token, held            Ownership::enter (core/src/algorithm/ownership.rs)
 *   section                     from the end of Attempt::lock to Attempt::unlock (core/src/acquire/operations.rs)
 *   exit, leave, wake           Attempt::leave: Ownership::exit, Bakery::leave, Lock::unpark_waiters_of
 *   withdraw                    queue::withdraw
 *   reap, reap_notice, reap_cleared    liveness::clear (core/src/acquire/liveness.rs): steps 1 and 2, step 3, step 4
 * Labels beside those: claim (slots::claim, src/slots.rs), take (Attempt::lock looks whether the lock is closed), choose and
 * scan (set choosing, read one number), look (read one register), blocked (Waiter::wait, while Protocol::still_blocks), occupy
 * and retire (slots::occupy, slots::vacate), lower and its parts (slots::lower_bound; its step is `again`), dead, gone.
 *
 * ASSERTED, each named where it stands:
 *   EXCLUSION  one at a time, from `won` to the end of `leave`
 *   ORDER      one that finished its doorway before another began its own goes first, unless it died or withdrew
 *   TOKEN      fencing tokens strictly increase
 *   NOTICE     a holder that is told nothing finds the data intact, and no holder died at work since the last repair; one that
 *              is told of a death gets the dead holder's token; only one that was told closes the lock
 *   CLOSED     not recoverable is for ever, until a reset
 * and by Spin itself NO DEADLOCK: no invalid end state, so no participant waits for ever.
 *
 * MUTANTS: -DMUTANT_name, each at the place where it leaves something out or does it wrongly. README.md says what they are.
 */
#ifndef N
#define N 3                 /* slots */
#endif
#ifndef ROUNDS
#define ROUNDS 1            /* how often a participant takes the lock */
#endif
#ifndef SESSIONS
#define SESSIONS 1          /* how often a participant attaches that lived to detach */
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
#ifndef RESETS
#define RESETS 0
#endif
#ifndef TRIES
#define TRIES 0
#endif
#ifndef NEWCOMERS           /* 1: the file is new, every participant comes by `attach` and goes by `detach`, `slots_in_use` moves; */
#define NEWCOMERS 0         /* 0: all are there from the start and stay; only a newcomer after a death attaches */
#endif

/* ---- The file ------------------------------------------------------------------------------------------------------ */
#define IDLE 0              /* the packed word: 0, 1 = choosing, n + 1 = number n */
#define CHOOSING 1
#define CONSISTENT 0        /* Health */
#define INCONSISTENT 1
#define NOT_RECOVERABLE 2
byte word[N];               /* LockView::numbers */
byte cell_held[N];          /* Cell::held */
byte lock_token;            /* LockWords::token */
byte lock_state;            /* LockWords::state */
byte previous_owner;        /* LockWords::previous_owner */
bit in_use[N];              /* SlotRecord::state */
byte slots_in_use;          /* LiveHeader::slots_in_use, the bound of every scan */
bit left, right;            /* what the lock protects: equal, except while a holder is at work */

/* ---- The kernel ---------------------------------------------------------------------------------------------------- */
byte byte_lock[N];          /* 0 = free, p + 1 = participant p has it */

/* ---- What only the checker knows ------------------------------------------------------------------------------------ */
#define BIT(p) (1 << (p))
byte inside;                /* between won and leave */
byte working;               /* told that the lock is its own, and not yet giving it back */
byte queued;                /* doorway finished; not yet won, withdrawn or dead */
byte before[N];             /* those of the queue that had finished their doorway when this one began its own */
byte last_token;            /* the largest fencing token given out */
byte dead_token;            /* of the last holder that died written down as such, since the last repair; else 0 */
bit torn;                   /* a holder died at work since the last repair */
bit closed;                 /* a holder left without the repair it owed, and the lock was not reset since */
byte deaths, withdrawals, tries, abandons, resets, mistakes;

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

#define LAST 255                                       /* later than every number: how a try looks before its doorway */

/* Where `reap` and `lower` go on when they are done. */
#define FOR_ATTACH 0
#define FOR_WAIT 1
#define FOR_DETACH 2
#define FOR_ABANDON 3

proctype Participant(byte i) {
    byte j, end, word_of_mine, seen, q, my_token, health, rounds, sessions, after, k;
    bit resetting, trying;

#if NEWCOMERS == 0
    atomic { rounds = ROUNDS; goto take };
#endif

claim:  /* The slot is that of the holder of its byte lock. First it finishes what a dead one left. */
    atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; rounds = ROUNDS; q = i; after = FOR_ATTACH };
attach:
#ifndef MUTANT_NoRecoverAtAttach
    goto reap;
#endif
occupy:
    STEP(in_use[i] = 1);
#if NEWCOMERS && !defined(MUTANT_BoundRaisedAfterDoorway)
    STEP(slots_in_use = (slots_in_use > i + 1 -> slots_in_use : i + 1));
    goto lower;
#endif

take:   /* One more acquisition, or the end. A closed lock is not waited for, except in order to reset it. */
    if
    :: atomic { rounds == 0 -> health = 0; goto retire }
    :: atomic { rounds > 0 -> rounds--; health = lock_state;
                if
                :: health == NOT_RECOVERABLE && resets < RESETS -> resets++; resetting = 1
                :: health == NOT_RECOVERABLE -> goto take
                :: health != NOT_RECOVERABLE
                fi }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;
#if TRIES > 0
    if                                                          /* queue::look_before_trying */
    :: atomic { tries < TRIES -> tries++; trying = 1; health = 0; word_of_mine = LAST; goto wait }
    :: skip
    fi;
#endif

choose:
    STEP(before[i] = queued; health = 0
#ifndef MUTANT_NoChoosing
         ; word[i] = CHOOSING
#endif
        );
doorway:
    STEP(word_of_mine = CHOOSING; end = slots_in_use; j = FIRST);
    do
    :: j < end ->
scan:   STEP(word_of_mine = (word[j] > word_of_mine -> word[j] : word_of_mine); NEXT(j))
    :: else -> break
    od;
    STEP(word_of_mine++; word[i] = word_of_mine; queued = queued | BIT(i); j = 0; end = 0);
#if NEWCOMERS && defined(MUTANT_BoundRaisedAfterDoorway)
    STEP(slots_in_use = (slots_in_use > i + 1 -> slots_in_use : i + 1));
#endif

wait:   /* Of those before us, the latest is the one to wait for; one that is choosing, if there is no other. */
    STEP(end = slots_in_use; j = FIRST; seen = 0; q = 0);
    do
    :: j < end ->
look:   STEP(if
             :: word[j] != IDLE && word[j] >= seen &&
#ifdef MUTANT_NoTieBreak
                word[j] < word_of_mine -> seen = word[j]; q = j
#else
                (word[j] < word_of_mine || (word[j] == word_of_mine && j < i)) -> seen = word[j]; q = j
#endif
             :: else
             fi;
             NEXT(j))
    :: else -> break
    od;
    if
#if TRIES > 0
    :: atomic { seen == 0 && word_of_mine == LAST -> j = 0; end = 0; goto choose }
#endif
    :: atomic { seen == 0 && word_of_mine != LAST -> j = 0; end = 0; goto won }
    :: atomic { seen != 0 -> j = 0; end = 0 }
    fi;
blocked:
    if
    :: atomic { word[q] != seen ->
#ifdef MUTANT_LosesItsPlace
       goto choose
#else
       goto wait
#endif
       }
    :: atomic { byte_lock[q] == 0 ->
#ifndef MUTANT_ReapWithoutByteLock
       byte_lock[q] = i + 1;
#endif
       seen = 0; after = FOR_WAIT; goto reap }
#ifdef MUTANT_FalseDeath
    :: atomic { byte_lock[q] != 0 && mistakes == 0 -> mistakes++; seen = 0; after = FOR_WAIT; goto reap }
#endif
#if TRIES > 0
    :: atomic { trying && word_of_mine == LAST && word[q] == CHOOSING -> seen = 0; q = 0; goto choose }
    :: atomic { trying && word_of_mine == LAST && word[q] != CHOOSING && word[q] == seen && byte_lock[q] != 0 ->
                seen = 0; q = 0; word_of_mine = 0; trying = 0; resetting = 0; goto take }       /* would block */
    :: atomic { trying && word_of_mine != LAST && word[q] == seen && byte_lock[q] != 0 -> seen = 0; q = 0; goto withdraw }
#endif
#if WITHDRAWALS > 0
    :: atomic { word_of_mine != LAST && withdrawals < WITHDRAWALS -> withdrawals++; seen = 0; q = 0; goto withdraw }
#endif
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;

won:
    STEP(assert(inside == 0);    /* EXCLUSION */
         assert(before[i] == 0);    /* ORDER */
         inside = inside | BIT(i); OUT_OF_QUEUE(i);
         word_of_mine = 0; trying = 0; my_token = lock_token + 1);
token:
#ifdef MUTANT_TokenAfterHeld
    STEP(cell_held[i] = my_token; assert(my_token > last_token); last_token = my_token);
    STEP(lock_token = my_token);
#else
    STEP(lock_token = my_token);
held:
#if defined(MUTANT_NoHeld) || defined(MUTANT_HeldAfterSection)
    STEP(assert(my_token > last_token); last_token = my_token);
#else
    STEP(cell_held[i] = my_token; assert(my_token > last_token); last_token = my_token);    /* TOKEN */
#endif
#endif

section:
    STEP(health = lock_state;
         if
         :: health == NOT_RECOVERABLE && !resetting -> goto exit
         :: else -> working = working | BIT(i)
         fi;
         assert(!closed || resetting);    /* CLOSED */
         assert(health != CONSISTENT || (left == right && !torn));    /* NOTICE */
         assert(health != INCONSISTENT || (dead_token != 0 && previous_owner == dead_token)));    /* NOTICE */
    if
    :: atomic { health == CONSISTENT -> skip }
    :: atomic { health == INCONSISTENT && !resetting -> goto exit }         /* a holder that repairs nothing */
#if ABANDONS > 0
    :: atomic { health == INCONSISTENT && !resetting && abandons < ABANDONS -> goto abandon }
#endif
    :: atomic { health != CONSISTENT -> skip };
       STEP(right = left);
       STEP(lock_state = CONSISTENT; health = CONSISTENT; torn = 0; dead_token = 0; closed = 0)     /* mark_consistent */
    fi;
    STEP(left = 1 - left);
#ifdef MUTANT_HeldAfterSection
    STEP(cell_held[i] = my_token);
#endif
#if ABANDONS > 0
    if
    :: atomic { abandons < ABANDONS -> goto abandon }
    :: skip
    fi;
#endif
    STEP(right = left);

exit:
    STEP(if
         :: lock_state == INCONSISTENT ->
            assert(health == INCONSISTENT);    /* NOTICE */
            lock_state = NOT_RECOVERABLE; closed = 1
         :: else
         fi;
         health = 0; resetting = 0; my_token = 0; working = working & ~BIT(i));
#ifdef MUTANT_LeaveBeforeHeld
    STEP(word[i] = IDLE; inside = inside & ~BIT(i));
    STEP(cell_held[i] = 0);
#else
    STEP(cell_held[i] = 0);
leave:
    STEP(word[i] = IDLE; inside = inside & ~BIT(i));
#endif
wake:
    goto take;

#if ABANDONS > 0
abandon: /* A guard dropped by a panic: the lock is given back as by a dead holder. */
    atomic { abandons++; dead_token = cell_held[i]; torn = 1; working = working & ~BIT(i); q = i; after = FOR_ABANDON; goto reap };
#endif

withdraw:
    STEP(
#ifndef MUTANT_WithdrawKeepsNumber
         word[i] = IDLE;
#endif
         word_of_mine = 0; resetting = 0; trying = 0; before[i] = 0; OUT_OF_QUEUE(i));
    goto take;

    /* ---- liveness::clear for q, with q's byte lock in hand. Every step may be repeated by the next reaper. ---- */
reap:
#ifdef MUTANT_ClearBeforeNotice
    STEP(word[q] = IDLE);
#endif
    if
    :: atomic { cell_held[q] == 0 -> goto reap_notice }
    :: atomic { cell_held[q] != 0 -> previous_owner = cell_held[q] }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;
#ifdef MUTANT_HeldBeforeNotice
    STEP(cell_held[q] = 0);
#endif
#ifdef MUTANT_ClobberNotRecoverable
    STEP(lock_state = INCONSISTENT);
#else
    STEP(if :: lock_state == CONSISTENT -> lock_state = INCONSISTENT :: else fi);
#endif
    STEP(cell_held[q] = 0);
reap_notice:
    STEP(word[q] = IDLE; if :: q == i -> inside = inside & ~BIT(i) :: else fi);
reap_cleared:
    if
    :: atomic { after == FOR_ATTACH -> q = 0; goto occupy }
#if ABANDONS > 0
    :: atomic { after == FOR_ABANDON -> q = 0; after = 0; health = 0; my_token = 0; goto take }
#endif
#if NEWCOMERS
    :: atomic { after == FOR_DETACH -> goto detach }
#endif
    :: atomic { after == FOR_WAIT -> skip }
    fi;
#ifdef MUTANT_VacateAfterRelease
    STEP(byte_lock[q] = (byte_lock[q] == i + 1 -> 0 : byte_lock[q]));
#endif
    STEP(in_use[q] = 0);                                        /* slots::vacate */
    STEP(byte_lock[q] = (byte_lock[q] == i + 1 -> 0 : byte_lock[q]); q = 0; after = 0);
    goto wait;

retire: /* Detaching; the byte lock goes last. */
#if NEWCOMERS == 0
    goto gone;
#else
    atomic { q = i; after = FOR_DETACH; goto reap };
detach:
    STEP(in_use[i] = 0; q = 0);                                 /* slots::vacate */
#ifdef MUTANT_LowerByStore
    STEP(if :: slots_in_use == i + 1 :: else -> goto lowered fi);
    STEP(slots_in_use = i);
#else
    STEP(if :: slots_in_use == i + 1 -> slots_in_use = i :: else -> goto lowered fi);      /* lower_bound_below */
#endif

lower:  /* slots::lower_bound: one slot at a time, the highest first, and never our own. */
    STEP(if :: slots_in_use > 0 -> j = slots_in_use - 1 :: else -> goto lowered fi);
highest:
    STEP(if :: in_use[j] -> j = 0; goto lowered :: else fi);
#ifndef MUTANT_LowerWithoutByteLock
    STEP(if :: byte_lock[j] == 0 -> byte_lock[j] = i + 1 :: else -> j = 0; goto lowered fi);
#endif
#ifndef MUTANT_LowerWithoutSecondLook
again:
    STEP(if :: in_use[j] -> end = 1; goto unlock :: else fi);
#endif
#ifdef MUTANT_LowerByStore
    STEP(slots_in_use = j);
#else
    STEP(if :: slots_in_use == j + 1 -> slots_in_use = j :: else -> end = 1 fi);           /* lower_bound_below */
#endif
unlock:
    STEP(
#ifndef MUTANT_LowerWithoutByteLock
         byte_lock[j] = (byte_lock[j] == i + 1 -> 0 : byte_lock[j]);
#endif
         j = 0;
         if :: end -> end = 0 :: else -> goto lower fi);
lowered:
    if
    :: atomic { after == FOR_ATTACH -> goto take }
    :: atomic { after == FOR_DETACH -> skip }
    fi;
    STEP(byte_lock[i] = 0; after = 0;
         if
         :: sessions + 1 < SESSIONS -> sessions++; goto claim
         :: else -> goto gone
         fi);
#endif

dead:   /* kill -9: memory stays as it is, the kernel drops the byte locks. A newcomer takes the slot, or none does. */
    atomic {
        if :: cell_held[i] != 0 -> dead_token = cell_held[i] :: else fi;
        if :: working & BIT(i) -> torn = 1 :: else fi;
        inside = inside & ~BIT(i); working = working & ~BIT(i); before[i] = 0; OUT_OF_QUEUE(i);
        do :: k < N -> byte_lock[k] = (byte_lock[k] == i + 1 -> 0 : byte_lock[k]); k++ :: else -> break od;
        j = 0; end = 0; word_of_mine = 0; seen = 0; q = 0; my_token = 0; health = 0; rounds = 0;
        after = 0; k = 0; resetting = 0; trying = 0;
        if :: goto claim :: goto gone fi
    };
gone:
    skip
}

init {
    atomic {
        byte p = 0;
        do
        :: p < N ->
#if NEWCOMERS == 0
           byte_lock[p] = p + 1; in_use[p] = 1; slots_in_use = N;
#endif
           run Participant(p); p++
        :: else -> break
        od
    }
}
