/* A condition of a mutex, where every participant sees every access at once (sequential consistency).
 *
 * MODELLED: one condition and its mutex, and N slots. A participant has ROUNDS rounds; in each it does one of what its ACTS allow:
 * it waits, notifies one, or notifies all. It may stop before they are over, and live. A waiter draws a ticket from `sequence`; a
 * notification draws its number from the same word, and only waiters with an earlier ticket may have it. A participant may be
 * killed before every step (DEATHS times in all): as a waiter, as a notifier, while it consumes, passes on or reaps. A newcomer
 * takes the slot, or none ever does (NEWCOMERS=0: none). A waiter may give up (GIVE_UPS), or fail to take the mutex again (DECLINES).
 * A notification whose waiter died or declined is an orphan, and is passed on to the oldest waiter that was there before it.
 *
 * With ITEMS=1 it is used as programs do: a participant that waits wants an item, and waits while there is none; one that notifies puts
 * an item there before, with the mutex. So no waiter may be left asleep beside an item, but for those on whose account one died that
 * had put it there and not notified yet, or that had consumed the notification and not taken it yet.
 *
 * Sleeping is modelled: the futex word `called` (as a bit: it has changed since its participant read it), and who is asleep. With
 * NAPS=0 only a wake-up ends a sleep, so that a missed one shows; with NAPS=1 every sleep ends by itself. A nap is over when there
 * is something to do, and not before: else a waiter that is never notified would be between two naps for ever. So the guards of
 * `end_asleep` are what `look_after` looks for.
 *
 * LEFT OUT: the mutex, which is one word that a death sets free, without order, data or owner-dead notice (bakery_sc.pml); waits
 * that are abandoned without giving up; a slot that is left in good order (its entry must stay as it is); participants that take
 * no step any more; `sequence` wrapping round. Notifiers do not hold the mutex while they notify: if they do, fewer executions are left.
 *
 * THE LABELS are the code's steps (core/src/coordination/condition.rs, src/kind/condition.rs):
 *   attach                      the byte lock of the slot; what the dead one left there is reaped first
 *   wait, settle, ticket        begin: an orphan in the own entry is passed on, then WAITING(t)
 *   unlock, look, end_asleep    the sleep, with the naps of look_after
 *   give_up, decline            give_up: the limit is over; decline: the mutex cannot be taken again
 *   lock, consume, returned     the mutex again, and only then the notification
 *   notify, find, found, call   notify_one and notify_all, give_to_oldest, wake
 *   pass_on, orphan, successor, again, passed, pass_end    pass_on, pass_on_from, successor_for
 *   reap                        reap, with the byte lock in hand
 *
 * ASSERTED, each named where it stands:
 *   ONCE       a notification is consumed by at most one wait
 *   SPURIOUS   a wait returns "notified" only by a notification that came after it had begun
 *   LOST       a notification that finds no waiter leaves none that began to wait before it; and when nothing more can happen,
 *              every participant asleep still waits, and each notification since it began to wait, if it found a waiter, was consumed
 *   ORDER      the oldest waiter is notified, of the living ones
 *   HELD       a wait returns with the mutex
 * and by Spin itself NO DEADLOCK: no participant is stuck but in its sleep.
 *
 * MUTANTS: -DMUTANT_name, each at its place. README.md says what they are.
 */
#ifndef N
#define N 3                 /* slots */
#endif
#ifndef ROUNDS
#define ROUNDS 1            /* how often a participant waits or notifies */
#endif
#ifndef AGAIN
#define AGAIN 0             /* how often participant 0 does beyond that */
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef GIVE_UPS
#define GIVE_UPS 0
#endif
#ifndef DECLINES
#define DECLINES 0          /* how often a waiter cannot take the mutex again */
#endif
#ifndef NEWCOMERS
#define NEWCOMERS 1         /* 0: no newcomer takes the place of a dead one */
#endif
#ifndef NAPS
#define NAPS 1              /* 0: a sleep has no end but the wake-up (then without deaths) */
#endif
#ifndef ITEMS
#define ITEMS 0             /* 1: waiters take what notifiers put there */
#endif
#ifndef ACTS                /* what participants 0 to 3 choose from, a bit each: wait = 1, notify one = 2, notify all = 4 */
#define ACTS 7
#endif
#ifndef ACTS_0
#define ACTS_0 ACTS
#endif
#ifndef ACTS_1
#define ACTS_1 ACTS
#endif
#ifndef ACTS_2
#define ACTS_2 ACTS
#endif
#ifndef ACTS_3
#define ACTS_3 ACTS
#endif
#define MAY_ACT(a) ((i == 0 -> ACTS_0 : (i == 1 -> ACTS_1 : (i == 2 -> ACTS_2 : ACTS_3))) & (a))

/* ---- The file ------------------------------------------------------------------------------------------------------ */
#define IDLE 0              /* an entry: 8 * number + state */
#define IS_WAITING 1
#define IS_NOTIFIED 2
#define IS_PASSED 3
#define IS_BROADCAST 4
#define IS_ORPHAN 5
#define STATE(e) ((e) & 7)
#define NUMBER(e) ((e) >> 3)
#define WAITING(t) (8 * (t) + IS_WAITING)
#define NOTIFIED(n) (8 * (n) + IS_NOTIFIED)
#define PASSED(n) (8 * (n) + IS_PASSED)
#define BROADCAST (8 * 0 + IS_BROADCAST)
#define ORPHAN(n) (8 * (n) + IS_ORPHAN)
byte entry[N];
bit called[N];              /* the futex word has changed since its participant read it */
byte sequence;              /* of tickets and of notifications */
byte mutex;                 /* 0, or p + 1 */

/* ---- The kernel, and the slots' states -------------------------------------------------------------------------------- */
byte byte_lock[N];          /* 0 = free, p + 1 = participant p has it */
bit in_use[N];              /* the slot has a participant, or one that is dead and not reaped */
bit asleep[N];

/* ---- What only the checker knows ------------------------------------------------------------------------------------ */
#define BIT(n) (1 << (n))
int pending;                /* the notifications that found a waiter, and that no wait has consumed */
int dropped;                /* those of them whose waiter died, and that found no other one */
byte since[N];              /* not 0: waits, and this was `sequence` when that began; a later notification counts it */
bit lost, overtaken;        /* asserted to be 0 */
byte items;                 /* data of the program: with the mutex */
byte stranded;              /* items for which a participant died that owed a notification, or had consumed it */
byte deaths, give_ups, declines;

#define MAY_DIE atomic { deaths < DEATHS -> deaths++; goto dead }
#if DEATHS > 0
#define STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_DIE fi
#else
#define STEP(...) atomic { __VA_ARGS__ }
#endif
#define NEXT(j) j = (j + 1 == i -> j + 2 : j + 1)      /* the next slot that is not our own */
#define FIRST (i == 0 -> 1 : 0)
#if N == 2
#define ANY(of) (of(0) || of(1))
#elif N == 3
#define ANY(of) (of(0) || of(1) || of(2))
#else
#define ANY(of) (of(0) || of(1) || of(2) || of(3))
#endif

#define IS_DEAD(p) (in_use[p] && byte_lock[p] == 0)
#define IS_NOTIFIED_DEAD(p) (p != i && (STATE(entry[p]) == IS_NOTIFIED || STATE(entry[p]) == IS_PASSED) && IS_DEAD(p))
#define HAS_ORPHAN(p) (STATE(entry[p]) == IS_ORPHAN)
#define MAY_PASS_ON ANY(HAS_ORPHAN)

#ifdef MUTANT_FirstFound
#define IS_OLDEST(ticket) (best == 0)
#else
#define IS_OLDEST(ticket) (best == 0 || ticket < v)
#endif
#ifdef MUTANT_PassedToNewcomer
#define WAS_THERE(ticket) 1
#else
#define WAS_THERE(ticket) (ticket < n)
#endif

/* The assertions. */
#define IS_MISSED(p) (since[p] != 0 && since[p] < n)   /* a notification n that finds none should have found p */
#define IS_OLDER(p) (since[p] != 0 && STATE(entry[p]) == IS_WAITING && NUMBER(entry[p]) < v)
#define CHOSEN overtaken = ANY(IS_OLDER); assert(!overtaken)                          /* ORDER */
#define NONE_THERE lost = ANY(IS_MISSED); assert(!lost)                               /* LOST */
/* One that had drawn its ticket and was about to wait may be found by another participant that passes on, before or after. */
#define HAS_IT(p) (entry[p] == PASSED(n))
#define DROPPED_UNLESS_GIVEN \
    if :: ANY(HAS_IT) :: else -> pending = pending & ~BIT(n); dropped = dropped | BIT(n) fi
#define GIVEN_IF_DROPPED pending = pending | (dropped & BIT(n)); dropped = dropped & ~BIT(n)
#define IS_LOST(p) (asleep[p] && (STATE(entry[p]) != IS_WAITING || (pending >> since[p]) >> 1 != 0 || items > stranded))

#if ITEMS
#define NOTIFIED_THEM owes = 0
#else
#define NOTIFIED_THEM skip
#endif
#define CALL(p) STEP(called[p] = 1); STEP(asleep[p] = 0)

/* What `notify` is to do, and where `pass_on` and `reap` go on when they are done. */
#define ONE 0
#define ALL 1
#define FOR_ATTACH 0
#define FOR_TAKE 1
#define FOR_SETTLE 2
#define FOR_SLEEP 3

proctype Participant(byte i) {
    byte j, o, q, n, t, c, v, best, rounds, after;
#if ITEMS
    bit owes;               /* has put an item there and not notified yet, or has consumed a notification and not taken an item yet */
#endif

attach: /* The slot is that of the holder of its byte lock. What a dead one left there is reaped first. */
    atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; rounds = ROUNDS + (i == 0 -> AGAIN : 0) };
    if
    :: atomic { in_use[i] -> q = i; after = FOR_ATTACH; goto reap }
    :: atomic { !in_use[i] -> in_use[i] = 1 }
    fi;

take:   /* One thing more, or the end. */
    if
    :: atomic { rounds > 0 && MAY_ACT(1) -> rounds--; goto wait }
    :: atomic { rounds > 0 && MAY_ACT(2) -> rounds--; after = ONE; goto notify }
    :: atomic { rounds > 0 && MAY_ACT(4) -> rounds--; after = ALL; goto notify }
    :: atomic { rounds = 0; goto gone }
    fi;

wait:
    if
    :: atomic { mutex == 0 -> mutex = i + 1 }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;
#if ITEMS
wanted:
    STEP(owes = 0; if :: items > 0 -> items--; goto returned :: else fi);
#endif
settle: /* The entry may still be the orphan of the dead one that had this slot. */
    if
    :: atomic { STATE(entry[i]) != IS_ORPHAN -> skip }
    :: atomic { STATE(entry[i]) == IS_ORPHAN && MAY_PASS_ON -> after = FOR_SETTLE; goto pass_on }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;
ticket:
    STEP(sequence++; t = sequence);
#ifdef MUTANT_WaitsAfterUnlock
    STEP(mutex = 0; since[i] = sequence);
    STEP(entry[i] = WAITING(t));
#else
    STEP(entry[i] = WAITING(t); since[i] = sequence);
unlock:
    STEP(mutex = 0);
#endif

look:
#ifndef MUTANT_CalledReadAfterLook
    STEP(called[i] = 0);
#endif
#ifndef MUTANT_SleepsWithoutLook
    STEP(if :: entry[i] != WAITING(t) -> goto lock :: else fi);
#endif
#ifdef MUTANT_CalledReadAfterLook
    STEP(called[i] = 0);
#endif
    STEP(if :: called[i] -> goto look :: else -> asleep[i] = 1 fi);      /* futex_wait */
end_asleep:
    if
    :: atomic { !asleep[i] -> goto look }
#if NAPS
    :: atomic { asleep[i] && entry[i] != WAITING(t) -> asleep[i] = 0; goto lock }
#ifndef MUTANT_OrphanUnseen
    :: atomic { asleep[i] && MAY_PASS_ON -> asleep[i] = 0; after = FOR_SLEEP; goto pass_on }
#endif
#if DEATHS > 0
    :: atomic { asleep[i] && IS_NOTIFIED_DEAD(0) -> asleep[i] = 0; q = 0; byte_lock[q] = i + 1; after = FOR_SLEEP; goto reap }
    :: atomic { asleep[i] && IS_NOTIFIED_DEAD(1) -> asleep[i] = 0; q = 1; byte_lock[q] = i + 1; after = FOR_SLEEP; goto reap }
#if N > 2
    :: atomic { asleep[i] && IS_NOTIFIED_DEAD(2) -> asleep[i] = 0; q = 2; byte_lock[q] = i + 1; after = FOR_SLEEP; goto reap }
#endif
#if N > 3
    :: atomic { asleep[i] && IS_NOTIFIED_DEAD(3) -> asleep[i] = 0; q = 3; byte_lock[q] = i + 1; after = FOR_SLEEP; goto reap }
#endif
#endif
#endif
#if GIVE_UPS > 0
    :: atomic { asleep[i] && give_ups < GIVE_UPS -> give_ups++; asleep[i] = 0; goto give_up }
#endif
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;

#if GIVE_UPS > 0
give_up: /* If it was notified meanwhile, it has not given up. */
#ifdef MUTANT_TimeOutTakesOne
    STEP(entry[i] = IDLE; since[i] = 0);
#else
    STEP(if :: entry[i] == WAITING(t) -> entry[i] = IDLE; since[i] = 0 :: else fi);
#endif
#endif

lock:
#ifdef MUTANT_ConsumedBeforeLock
    STEP(v = entry[i]; entry[i] = IDLE);
#endif
    if
    :: atomic { mutex == 0 -> mutex = i + 1 }
#if DECLINES > 0
    :: atomic { declines < DECLINES -> declines++; goto decline }
#endif
#ifdef MUTANT_ReturnsWithoutMutex
    :: atomic { entry[i] == IDLE -> skip }
#endif
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;
consume: /* A notification that was passed on may still stand in the cell it came from, if its passer died. That one is cleared first:
          * else the next passer would find no other copy, and pass it on again. */
#ifndef MUTANT_ConsumedBeforeLock
    atomic { v = entry[i] };
#endif
#ifdef MUTANT_OwnClearedFirst
    STEP(entry[i] = IDLE);
#endif
    if
    :: atomic { STATE(v) == IS_PASSED -> j = FIRST };
       do
       :: atomic { j < N && entry[j] == ORPHAN(NUMBER(v)) -> skip };
          STEP(if :: entry[j] == ORPHAN(NUMBER(v)) -> entry[j] = IDLE :: else fi; NEXT(j))
       :: atomic { j < N && entry[j] != ORPHAN(NUMBER(v)) -> NEXT(j) }
       :: atomic { j >= N -> j = 0; break }
       od
    :: atomic { STATE(v) != IS_PASSED -> skip }
    fi;
    STEP(entry[i] = IDLE;
         n = NUMBER(v);
         if
         :: STATE(v) == IS_NOTIFIED || STATE(v) == IS_PASSED ->
            assert(pending & BIT(n));    /* ONCE */
            assert(n > t);    /* SPURIOUS */
            pending = pending & ~BIT(n)
#if ITEMS
            ; owes = 1; n = 0; v = 0; t = 0; goto wanted
#endif
         :: else
         fi;
#if ITEMS
         if :: STATE(v) == IS_BROADCAST -> n = 0; v = 0; t = 0; goto wanted :: else fi;
#endif
         n = 0; v = 0; t = 0);
returned:
    STEP(assert(mutex == i + 1);    /* HELD */
         mutex = 0; goto take);

#if DECLINES > 0
decline: /* It cannot take the mutex: the notification goes to another waiter. */
    STEP(t = 0;
         if
         :: STATE(entry[i]) == IS_NOTIFIED || STATE(entry[i]) == IS_PASSED ->
#ifdef MUTANT_DeclineClears
            entry[i] = IDLE
#else
            entry[i] = ORPHAN(NUMBER(entry[i])); after = FOR_TAKE; goto pass_on
#endif
         :: else -> entry[i] = IDLE; since[i] = 0
         fi;
         goto take);
#endif

notify: /* One, or all that are there. */
#if ITEMS
    if
    :: atomic { mutex == 0 -> mutex = i + 1 }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;
    STEP(items++; owes = 1);
    STEP(mutex = 0);
#endif
    STEP(sequence++; n = sequence);
find:   /* The oldest one that was there before. */
    atomic { j = FIRST; best = 0; v = 0 };
    do
    :: atomic { j < N ->
        c = entry[j];
        if :: STATE(c) == IS_WAITING && NUMBER(c) < n && IS_OLDEST(NUMBER(c)) -> best = j + 1; v = NUMBER(c) :: else fi;
        c = 0; NEXT(j) }
    :: atomic { j >= N -> j = 0; break }
    od;
    if
    :: atomic { best == 0 -> NONE_THERE; NOTIFIED_THEM; n = 0; after = 0; goto take }
    :: atomic { best != 0 -> skip }
    fi;
found:
    if
    :: atomic { after == ONE -> skip };
#ifdef MUTANT_TwoForOne
       STEP(entry[best - 1] = NOTIFIED(n); since[best - 1] = 0; pending = pending | BIT(n); v = 0)
#else
       STEP(if
            :: entry[best - 1] == WAITING(v) ->
               CHOSEN; entry[best - 1] = NOTIFIED(n); since[best - 1] = 0; pending = pending | BIT(n); NOTIFIED_THEM; v = 0
            :: else -> goto find
            fi)
#endif
    :: atomic { after == ALL -> skip };
       STEP(if
            :: entry[best - 1] == WAITING(v) -> CHOSEN; entry[best - 1] = BROADCAST; since[best - 1] = 0; v = 0
            :: else -> goto find
            fi)
    fi;
call:
    CALL(best - 1);
    if
    :: atomic { after == ALL -> goto find }
    :: atomic { after == ONE -> n = 0; q = best - 1; best = 0 }
    fi;
    if
#if DEATHS > 0 && NAPS
    :: atomic { IS_DEAD(q) -> byte_lock[q] = i + 1; after = FOR_TAKE; goto reap }     /* none was woken */
#endif
    :: atomic { q = 0; after = 0; goto take }
    fi;

pass_on: /* Any number of participants at a time; each step is one that another may have done by then. */
    atomic { o = 0 };
orphan:
    do
    :: atomic { o < N && STATE(entry[o]) != IS_ORPHAN -> o++ }
    :: atomic { o < N && STATE(entry[o]) == IS_ORPHAN -> n = NUMBER(entry[o]); break }
    :: atomic { o >= N -> o = 0; goto pass_end }
    od;
successor: /* The oldest waiter that was there, unless another cell has this number: then it was passed on, and this one not cleared yet. */
    atomic { j = 0; best = 0; v = 0 };
    do
#ifndef MUTANT_PassedTwice
    :: atomic { j < N && entry[j] == PASSED(n) -> goto passed }
    :: atomic { j < N && entry[j] != PASSED(n) ->
#else
    :: atomic { j < N ->
#endif
        if
        :: STATE(entry[j]) == IS_WAITING && WAS_THERE(NUMBER(entry[j])) && IS_OLDEST(NUMBER(entry[j])) ->
            best = j + 1; v = NUMBER(entry[j])
        :: else
        fi;
        j++ }
    :: atomic { j >= N -> break }
    od;
    if
    :: atomic { best == 0 -> skip };
       STEP(if :: entry[o] == ORPHAN(n) -> NONE_THERE; DROPPED_UNLESS_GIVEN; entry[o] = IDLE :: else fi;
            j = 0; n = 0; goto orphan)
    :: atomic { best != 0 -> skip }
    fi;
again:  /* If the other copy was consumed, or its waiter died, before we came to its cell, this one was cleared before that. */
#ifndef MUTANT_NoSecondLookAtOrphan
    if
    :: atomic { entry[o] == ORPHAN(n) -> skip }
    :: atomic { entry[o] != ORPHAN(n) -> j = 0; n = 0; v = 0; best = 0; goto orphan }
    fi;
#endif
    STEP(if
         :: entry[best - 1] == WAITING(v) ->
            CHOSEN; entry[best - 1] = PASSED(n); since[best - 1] = 0; GIVEN_IF_DROPPED; v = 0
         :: else -> goto successor
         fi);
    CALL(best - 1);
passed:
    STEP(if :: entry[o] == ORPHAN(n) -> entry[o] = IDLE :: else fi; j = 0; n = 0; v = 0; best = 0; goto orphan);
pass_end:
    if
    :: atomic { after == FOR_TAKE -> after = 0; goto take }
    :: atomic { after == FOR_SETTLE -> after = 0; goto settle }
    :: atomic { after == FOR_SLEEP -> after = 0; goto look }
    fi;

    /* ---- liveness::clear for q, with q's byte lock in hand. Every step may be repeated by the next reaper. ---- */
reap:
    STEP(if
         :: STATE(entry[q]) == IS_WAITING || STATE(entry[q]) == IS_BROADCAST -> entry[q] = IDLE
         :: STATE(entry[q]) == IS_NOTIFIED || STATE(entry[q]) == IS_PASSED ->
#ifdef MUTANT_NotificationDiesWithWaiter
            entry[q] = IDLE
#else
            entry[q] = ORPHAN(NUMBER(entry[q]))
#endif
         :: else
         fi);
    if
    :: atomic { after == FOR_ATTACH -> q = 0; goto take }
    :: atomic { after != FOR_ATTACH -> skip };
       STEP(in_use[q] = 0);
       STEP(byte_lock[q] = 0; q = 0; goto pass_on)
    fi;

#if DEATHS > 0
dead:   /* kill -9: memory stays as it is, the kernel drops the byte locks, the mutex too. A newcomer comes, or none does. */
    atomic {
        if :: q < N && byte_lock[q] == i + 1 -> byte_lock[q] = 0 :: else fi;
#if ITEMS
        stranded = stranded + owes; owes = 0;
#endif
        byte_lock[i] = 0; asleep[i] = 0; since[i] = 0; mutex = (mutex == i + 1 -> 0 : mutex);
        j = 0; o = 0; q = 0; n = 0; t = 0; c = 0; v = 0; best = 0; rounds = 0; after = 0;
#if NEWCOMERS
        if :: goto attach :: goto gone fi
#else
        goto gone
#endif
    };
#endif
gone:
    skip
}

/* When nothing more can happen. */
proctype End() {
end_waits:
    atomic { timeout -> lost = ANY(IS_LOST); assert(!lost) }    /* LOST */
}

init {
    atomic {
        byte p = 0;
        do :: p < N -> run Participant(p); p++ :: else -> break od;
        run End()
    }
}
