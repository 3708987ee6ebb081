/* Turn-taking on a virtual ring, with death in it, where every participant sees every access at once (sequential consistency).
 * One model for the three rings: RULE=1 Dijkstra's K-state ring (K = N + 1), RULE=2 Raynal's ring modulo N * N, RULE=3 the
 * sum ring with STEPS from one machine to the next.
 *
 * MODELLED: one ring of N machines. The writer of each word is what core/src/algorithm/ring/mod.rs says. A participant becomes
 * a member under the reconfiguration lock, waits until the privilege is there, goes in, passes it on and ends its membership,
 * ROUNDS times; those in STANDING join once and stay on the ring until they have had their rounds. It may be killed before
 * every step, whatever it is doing (DEATHS times in all); a newcomer then takes its slot, or none ever does. A waiter that
 * finds the one with the privilege dead reaps it, and one that finds it without a membership acts for it, and may be killed
 * at that too (WATCHFUL=0: it looks for neither, and each participant that leaves must have seen to it). A waiter may give
 * up (WITHDRAWALS times in all).
 *
 * A waiter may evict another participant that has the privilege and wants one turn, at any moment, whether that runs or not
 * (EVICTIONS times in all): with the reconfiguration lock it tells it so, and if that is outside then, it has no membership any
 * more. And a participant may take no step any more (STOPS of them), wherever it is but in its entry step, inside, on its way
 * out, or with the reconfiguration lock or another slot's byte lock, unless it is standing: then the others must come to their
 * end without it. Without both the entry step is left out, and `held` on the way out, which no other looks at then.
 * Instead of the two numbers there is a bit that says that they are equal; `named` knows whether the doorway that an evictor
 * read is still the present one. One that stands in the lock's queue may be told as well, by one that is late: a free choice in the
 * entry step (one of the EVICTIONS), of standing ones too. Here a waiter may give up in the lock's queue and after its entry
 * step as well.
 *
 * LEFT OUT: the reconfiguration lock's own works: it is free or a participant's, and the kernel frees a dead one's, as the bakery
 * does (bakery_sc.pml); fencing tokens, holders that repair nothing, resets and panics (the same); store buffers and
 * compilers; parking: a wait is a guard here; the bounds `slots_in_use` and `ring_bound`; garbage and `survey`,
 * which only begins a new ring here. The version of a link is one that never comes back: `looks` knows which participants
 * looked before it changed.
 *
 * THE LABELS are the code's steps (core/src/trace.rs); RingWait is in core/src/acquire/rotation.rs. A STEP has at most one access to a
 * word that another participant may write.
 *   attach, detach              the byte lock is taken and what a dead one left is finished; it is given back
 *   join, reconfigure           RingWait::join: the reconfiguration lock is taken; the membership is set under it
 *   settle, who, absent         RingWait::settle_here: Ring::who and Ring::absent_with_privilege, as long as they find one
 *   begin                       Ring::begin
 *   rotate                      RingWait::reach_the_turn: waiting for the turn, as long as there is a membership
 *   look, states, lefts, again  Ring::has_privilege: the link, the states, the link
 *   enter, refused              eviction::enter: `held` = TRYING; is the doorway evicted? Then `held` = 0, and it joins again
 *   won, section, exit          as in bakery_sc.pml
 *   leave, memberships, renew   Ring::pass and Ring::renew_links: all memberships, one by one; all links, each store a step
 *   pass, passed, wake          the state that passes the privilege on; the membership ended; what is left to see to
 *                               (rotation::leave)
 *   out                         eviction::step_back in rotation::leave: `held` = 0
 *   step_back, withdraw         RingWait::depart: the membership ended while waiting; or after the entry step (rotation::enter)
 *   pass_over, evict, passed_over    RingWait::pass_over, with the reconfiguration lock: does it want one turn, and have the
 *                               privilege? eviction::evict_one; then its membership ended
 *   reap, reap_notice, reap_cleared    liveness::clear (core/src/acquire/liveness.rs)
 * Labels beside those: claim, take, blocked (the wait), unsettled (takes the reconfiguration lock in order to settle),
 * looked, settled, beside (Ring::is_wanted_beside), reap_trying (`held` = 0 alone), dead, halts, gone.
 *
 * ASSERTED, each named where it stands:
 *   EXCLUSION  one at a time, from `won` until the privilege is passed on; one that acts for another included, as is one that
 *              acts for a machine whose participant was evicted
 *   PRIVILEGE  after every store of a pass one machine has the privilege: after the last one the next in order of service
 *              of those with a membership, until then the one that had it
 *   ORDER      a waiter is overtaken by each of the others at most once (but by a newcomer once more), from when its membership
 *              began, or began anew after it was evicted
 *   NOTICE     a holder that is told nothing finds the data intact, and no holder died at work since the last repair; no notice
 *              tells of one that did not die as a holder
 * and by Spin itself NO DEADLOCK: no invalid end state, so no participant waits for ever.
 *
 * MUTANTS: -DMUTANT_name, each at the place where it leaves something out or does it wrongly. README.md says what they are.
 */
#ifndef RULE
#define RULE 1
#endif
#ifndef STEPS
#define STEPS 1             /* of the sum ring: coprime to N */
#endif
#ifndef N
#define N 2                 /* machines; at most 4 */
#endif
#ifndef ROUNDS
#define ROUNDS 1            /* how often a participant takes the lock */
#endif
#ifndef STANDING
#define STANDING 0          /* the slots whose participants want every turn, as a set of bits */
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef WITHDRAWALS
#define WITHDRAWALS 0
#endif
#ifndef NEWCOMERS
#define NEWCOMERS 1         /* 0: no newcomer takes a dead one's slot */
#endif
#ifndef WATCHFUL
#define WATCHFUL 1
#endif
#ifndef EVICTIONS
#define EVICTIONS 0         /* how often one is evicted that may well be running */
#endif
#ifndef STOPS
#define STOPS 0             /* how many participants take no step any more; they may be evicted */
#endif
#if EVICTIONS + STOPS > 0
#define EVICTING 1          /* 0: the entry step and its words are left out */
#else
#define EVICTING 0
#endif

/* ---- core/src/algorithm/ring/rule.rs. `l` is the left neighbour + 1, as in the link's word. -------------------------------- */
#if RULE == 1
#define BOUND (N + 1)
#define BOTTOM(x, l) ((l) > (x))
#define THERE(x, l, k, mine, lefts) (((mine) == (lefts)) == BOTTOM(x, l))
#define PASSED_ON(x, l, k, mine, lefts, distance) (BOTTOM(x, l) -> ((lefts) + 1) % BOUND : (lefts))
#elif RULE == 2
#define BOUND (N * N)
#define THERE(x, l, k, mine, lefts) (((lefts) + (k)) % BOUND == ((mine) + N - 1) % BOUND)
#define PASSED_ON(x, l, k, mine, lefts, distance) (((lefts) + (k) + 1) % BOUND)
#else
#define BOUND N
#define PASSED_ON(x, l, k, mine, lefts, distance) (((mine) + STEPS * (distance)) % BOUND)
#endif
#if RULE == 3
#define RIGHT_OF(x, distance) (((x) + (distance) * STEPS) % N)
#else
#define RIGHT_OF(x, distance) (((x) + (distance)) % N)
#endif

/* ---- The file -------------------------------------------------------------------------------------------------------- */
#define NONE 0              /* Membership */
#define ONE_TURN 1
#define EVERY_TURN 2
#define CONSISTENT 0        /* Health */
#define INCONSISTENT 1
byte state[N];              /* Cell::ring_state */
byte vg[N];                 /* Cell::ring_link: the left neighbour + 1, or 0 = not on the ring */
byte absent_between[N];     /* the same word: k */
byte membership[N];         /* RingCell::membership */
#define HELD 1              /* in `held`: a fencing token */
#define TRYING 2            /* in its entry step, or on its way out */
#if EVICTING
byte cell_held[N];          /* Cell::held: 0, TRYING, HELD */
bit evicted[N];             /* Cell::evicted == Cell::doorway: the participant's present doorway is evicted */
#else
bit cell_held[N];
#endif
bit lock_state;             /* LockWords::state */
bit left, right;            /* what the lock protects: equal, except while a holder is at work */

/* ---- The kernel, and the reconfiguration lock --------------------------------------------------------------------------- */
byte byte_lock[N];          /* 0 = free, p + 1 = participant p has it */
byte reconfiguration;       /* likewise */

/* ---- What only the checker knows ------------------------------------------------------------------------------------------ */
#define BIT(p) (1 << (p))
#define OTHER_VERSION 255
byte looks[N];              /* the machine + 1 whose link was read and shall be read again; OTHER_VERSION: it has changed */
byte inside;                /* between won and passing on, or acting for an absent one */
byte working;               /* told that the lock is its own, and not yet giving it back */
byte waiting;               /* joined, not yet won, withdrawn or dead */
byte turns[N];              /* those that have won while this one waits */
byte died_holding;          /* the slots that died written down as holder and were not reaped yet */
byte finding, moved;        /* those in Ring::who; those of them whom the privilege moved under */
bit torn;                   /* a holder died at work since the last repair */
byte deaths, withdrawals;
#if EVICTING
byte named;                 /* the evictor has read the doorway of participant named - 1, and that has begun no other */
byte evictions, stops;
byte halted;                /* those that take no step any more */
#endif
hidden byte one;
hidden byte overtaken;

#if N > 3
#define EACH(f, operator) (f(0) operator f(1) operator f(2) operator f(3))
#elif N > 2
#define EACH(f, operator) (f(0) operator f(1) operator f(2))
#else
#define EACH(f, operator) (f(0) operator f(1))
#endif
#if N > 3
#define SUM (state[0] + state[1] + state[2] + state[3])
#elif N > 2
#define SUM (state[0] + state[1] + state[2])
#else
#define SUM (state[0] + state[1])
#endif
#if RULE == 3
#define HAS(x) (vg[x] != 0 && SUM % N == (x))
#else
#define HAS(x) (vg[x] != 0 && THERE(x, vg[x], absent_between[x], state[x], state[vg[x] - 1]))
#endif
#define OFF(x) (vg[x] == 0)
#define ABSENT_THERE(x) (HAS(x) && membership[x] == NONE)
#define DEAD_THERE(x) (HAS(x) && membership[x] != NONE && byte_lock[x] == 0)
#define MAY_EVICT(x) (x != i && HAS(x) && membership[x] == ONE_TURN && (evictions < EVICTIONS || halted & BIT(x)))
#define ONLY(x) one = (EACH(HAS, +) == 1 && HAS(x)); assert(one)    /* PRIVILEGE */

#define MAY_DIE atomic { deaths < DEATHS -> deaths++; goto dead }
#if DEATHS > 0
#define OR_DIES :: MAY_DIE
#else
#define OR_DIES
#endif
/* A step before which others must be able to do without it: not in its entry step, inside, or on its way out; not with the
 * reconfiguration lock or another slot's byte lock; nor if it is standing. */
#if STOPS > 0
#define OR_ENDS OR_DIES \
    :: atomic { stops < STOPS && WANTED == ONE_TURN && cell_held[i] == 0 && reconfiguration != i + 1 && \
                (q == i || byte_lock[q] != i + 1) -> stops++; halted = halted | BIT(i); looks[i] = 0; FORGET; goto halts }
#else
#define OR_ENDS OR_DIES
#endif
#if DEATHS > 0
#define STEP(...) if :: atomic { __VA_ARGS__ } OR_DIES fi
#else
#define STEP(...) atomic { __VA_ARGS__ }
#endif
#if DEATHS + STOPS > 0
#define FREE_STEP(...) if :: atomic { __VA_ARGS__ } OR_ENDS fi
#else
#define FREE_STEP(...) atomic { __VA_ARGS__ }
#endif

/* Every change of a link gives it another version. */
#define SET_LINK(x, l, k) vg[x] = l; absent_between[x] = k; j = 0; \
    do :: j < N -> looks[j] = (looks[j] == (x) + 1 -> OTHER_VERSION : looks[j]); j++ :: else -> j = 0; break od
#define WON turns[i] = 0; waiting = waiting & ~BIT(i); j = 0; \
    do \
    :: j < N && (waiting & BIT(j)) -> overtaken = (turns[j] & BIT(i)) != 0; assert(!overtaken);    /* ORDER */ \
       turns[j] = turns[j] | BIT(i); j++ \
    :: j < N && !(waiting & BIT(j)) -> j++ \
    :: else -> j = 0; break \
    od

/* Where `look` and `settle` go on when they are done. */
#define FOR_ROTATE 0
#define FOR_SETTLE 1
#define FOR_PASSED 2
#define FOR_WITHDRAW 3
#define FOR_TAKE 4
#define FOR_ATTACH 5
#define FOR_JOIN 6
#define FOR_EVICT 7

/* Each acquisition of the reconfiguration lock begins with a doorway (Eviction::begin). A participant that was evicted while it stood in
 * the lock's queue begins another doorway. */
#if EVICTING
#define NEW_DOORWAY FREE_STEP(evicted[i] = 0; named = (named == i + 1 -> 0 : named));
#define NOT_EVICTED && !evicted[i]
#else
#define NEW_DOORWAY
#define NOT_EVICTED
#endif
#ifdef MUTANT_EvictsWithoutLock
#define END_OF_EVICTION unsettled
#else
#define END_OF_EVICTION settle
#endif

#define FORGET j = 0; q = 0; l = 0; k = 0; mine = 0; why = 0; after = 0; rounds = 0; members = 0; at = 0; near = 0; \
    near_at = 0; to = 0; distance = 0; there = 0; given = 0; own = 0; health = 0
#define NOBODY 255
#define WANTED ((STANDING & BIT(i)) != 0 -> EVERY_TURN : ONE_TURN)
#define AT RIGHT_OF(q, at)
#if EVICTING && !defined(MUTANT_OutsideBeforePass)
#define ON_ITS_WAY_OUT TRYING
#else
#define ON_ITS_WAY_OUT 0
#endif
#if EVICTING
#define OUT(next) goto out
#else
#define OUT(next) goto next
#endif
/* What Ring::renew_links has the link of the machine at `at` say. */
#if defined(MUTANT_AbsentNotCounted)
#define GAP 0
#else
#define GAP (at - near_at - 1)
#endif
#define MEMBER(x) ((members & BIT(x)) != 0)
#define DROPPED(x) (!MEMBER(x) && (x) != q && vg[x] != 0)

proctype Participant(byte i) {
    byte j, q, l, k, mine, why, after, rounds;
    byte members, at, near, near_at, to, distance;     /* of a pass for machine q */
    bit there, given, own, health;

    atomic { rounds = ROUNDS; goto take };

claim:  /* The slot is that of the holder of its byte lock. First it finishes what a dead one left. */
    atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; rounds = ROUNDS; q = i; after = FOR_ATTACH };
attach:
    goto reap;

take:   /* One more turn, or the end. A standing member need not join. */
    if
    :: atomic { rounds == 0 && membership[i] == NONE -> goto detach }
    :: atomic { rounds == 0 && membership[i] != NONE -> after = FOR_TAKE; goto withdraw }
    :: atomic { rounds > 0 -> rounds--; if :: membership[i] == NONE -> goto join :: else -> goto rotate fi }
    OR_ENDS
    fi;

join:
#ifdef MUTANT_JoinWithoutLock
    STEP(membership[i] = WANTED; turns[i] = 0; waiting = waiting | BIT(i); q = i; why = FOR_JOIN; goto look);
#endif
    NEW_DOORWAY
    if
    :: atomic { reconfiguration == 0 NOT_EVICTED -> reconfiguration = i + 1 }
#if EVICTING
    :: atomic { reconfiguration == 0 && evicted[i] -> goto join }
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS && WANTED == ONE_TURN -> withdrawals++; goto withdraw }
#endif
#endif
    OR_ENDS
    fi;
reconfigure:    /* One that was told that it is evicted, but was not, is a member still, and keeps its place. */
    STEP(membership[i] = WANTED; turns[i] = (waiting & BIT(i) -> turns[i] : 0); waiting = waiting | BIT(i);
         after = FOR_ROTATE; finding = finding | BIT(i);
         goto who);

    /* ---- With the reconfiguration lock in hand: the machine that has the privilege and no member is acted for. ---- */
unsettled:
    NEW_DOORWAY
    if
    :: atomic { reconfiguration == 0 NOT_EVICTED -> reconfiguration = i + 1;
#if EVICTING
                if :: after == FOR_EVICT -> goto pass_over :: else fi
#endif
                }
#if EVICTING
    :: atomic { reconfiguration == 0 && evicted[i] -> goto unsettled }
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS && WANTED == ONE_TURN && after != FOR_TAKE ->
                withdrawals++; after = 0; goto withdraw }
#endif
#endif
    OR_ENDS
    fi;
settle:
    STEP(finding = finding | BIT(i));
who:    /* The machine that has it now; or none was found, since it moved while we looked. */
    if
    :: atomic { moved & BIT(i) -> finding = finding & ~BIT(i); moved = moved & ~BIT(i); goto settled }
    :: atomic { finding = finding & ~BIT(i); moved = moved & ~BIT(i); q = 0;
                do :: q < N && !HAS(q) -> q++ :: else -> break od;
                if
                :: q == N -> q = 0; one = EACH(OFF, &&) && membership[i] != NONE; assert(one);    /* PRIVILEGE */
                   goto begin
                :: else
                fi }
    OR_DIES
    fi;
#ifdef MUTANT_PrivilegeBeforeMembership
    atomic { why = FOR_SETTLE; goto look };
absent:
    STEP(there = 0; if :: membership[q] == NONE -> assert(inside == 0); inside = inside | BIT(i); goto leave
         :: else -> q = 0; goto settled
         fi);
#else
absent: /* In this order: one that passes the privilege on before it ends its membership has passed it by now. */
    STEP(if :: membership[q] == NONE -> why = FOR_SETTLE; goto look :: else -> q = 0; goto settled fi);
#endif
begin:
#if RULE == 3
    STEP(state[i] = (i + N - (SUM + N - state[i]) % N) % N);
#else
    STEP(state[i] = (i + 1) % BOUND);
#endif
    STEP(SET_LINK(i, i + 1, N - 1); ONLY(i); goto settled);
settled:
    STEP(reconfiguration = 0;
         if
         :: after == FOR_ROTATE -> goto rotate
         :: after == FOR_TAKE -> after = 0; goto take
         fi);

    /* ---- Ring::has_privilege of machine q. ---- */
look:
    FREE_STEP(l = vg[q]; k = absent_between[q];
         if :: l == 0 -> k = 0; goto looked :: else -> looks[i] = q + 1; j = 0 fi);
states:
#if RULE == 3
    FREE_STEP(mine = mine + state[j]; j++; if :: j < N -> goto states :: else -> j = 0; there = (mine % N == q) fi;
         if :: !there -> looks[i] = 0 :: else fi; mine = 0; l = 0; k = 0);
#else
    FREE_STEP(mine = state[q]);
lefts:
    FREE_STEP(there = THERE(q, l, k, mine, state[l - 1]); if :: !there -> looks[i] = 0 :: else fi; mine = 0; l = 0; k = 0);
#endif
    if
    :: atomic { !there -> goto looked }
    :: atomic { there ->
again:
#ifndef MUTANT_NoRevalidation
                there = (looks[i] == q + 1);
#endif
                looks[i] = 0; goto looked }
    OR_ENDS
    fi;
looked:
    atomic {
        if
#if EVICTING
        :: why == FOR_ROTATE && there -> there = 0; goto enter
        :: why == FOR_EVICT && there -> there = 0; why = 0; goto evict
        :: why == FOR_EVICT && !there -> why = 0; goto END_OF_EVICTION
#else
        :: (why == FOR_ROTATE || why == FOR_JOIN) && there ->
           there = 0; assert(inside == 0);    /* EXCLUSION */
           inside = inside | BIT(i); WON; goto won
#endif
        :: why == FOR_ROTATE && !there -> goto blocked
#ifdef MUTANT_JoinWithoutLock
        :: why == FOR_JOIN && !there -> why = 0; q = 0; after = FOR_ROTATE; goto unsettled
#endif
#ifdef MUTANT_PrivilegeBeforeMembership
        :: why == FOR_SETTLE && there -> why = 0; goto absent
#else
        :: why == FOR_SETTLE && there ->
           there = 0; why = 0; assert(inside == 0);    /* EXCLUSION */
           inside = inside | BIT(i); goto leave
#endif
        :: why == FOR_SETTLE && !there -> why = 0; q = 0; goto settled
        :: why == FOR_PASSED && there -> there = 0; why = 0; to = 0; j = 0; goto beside
        :: why == FOR_PASSED && !there -> why = 0; goto wake
        :: why == FOR_WITHDRAW && there -> there = 0; why = 0; q = 0;
#ifdef MUTANT_WithdrawsUnsettled
           goto take
#else
           after = FOR_TAKE; goto unsettled
#endif
        :: why == FOR_WITHDRAW && !there -> why = 0; q = 0; goto take
        fi
    };

rotate:
#if EVICTING && !defined(MUTANT_MembershipUnseen)
    FREE_STEP(after = 0; q = i; if :: membership[i] == NONE -> why = 0; goto join :: else -> why = FOR_ROTATE; goto look fi);
#else
    atomic { after = 0; q = i; why = FOR_ROTATE; goto look };
#endif
blocked:    /* Until it is there, or at a machine that will not pass it on. */
    if
#if EVICTING
    :: atomic { HAS(i) -> goto rotate }
#ifndef MUTANT_MembershipUnseen
    :: atomic { membership[i] == NONE -> goto rotate }
#endif
#ifndef MUTANT_NeverEvicts
    :: atomic { EACH(MAY_EVICT, ||) -> why = 0; q = 0; do :: !MAY_EVICT(q) -> q++ :: else -> break od;
                if :: halted & BIT(q) :: else -> evictions++ fi;
#ifdef MUTANT_DoorwayReadBeforeLock
                named = q + 1;
#endif
#ifdef MUTANT_EvictsWithoutLock
                after = FOR_ROTATE; goto pass_over
#else
                after = FOR_EVICT; goto unsettled
#endif
                }
#endif
#else
    :: atomic { HAS(i) -> goto look }
#endif
#if WATCHFUL
    :: atomic { EACH(ABSENT_THERE, ||) -> why = 0; q = 0; after = FOR_ROTATE; goto unsettled }
    :: atomic { EACH(DEAD_THERE, ||) -> why = 0; q = 0; do :: !DEAD_THERE(q) -> q++ :: else -> break od }
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS && WANTED == ONE_TURN -> withdrawals++; why = 0; goto withdraw }
#endif
    OR_ENDS
    fi;
    FREE_STEP(if
         :: byte_lock[q] == 0 ->
#ifndef MUTANT_ReapWithoutByteLock
            byte_lock[q] = i + 1;
#endif
            after = FOR_ROTATE; goto reap
         :: else -> goto rotate
         fi);

#if EVICTING
    /* ---- With the reconfiguration lock in hand: machine q has no member any more, unless that is in, or on its way. ---- */
pass_over:
    STEP(after = FOR_ROTATE; if :: membership[q] == ONE_TURN -> why = FOR_EVICT; goto look :: else -> goto END_OF_EVICTION fi);
evict:
#ifndef MUTANT_DoorwayReadBeforeLock
    STEP(named = q + 1);
#endif
    STEP(evicted[q] = (named == q + 1 -> 1 : evicted[q]); named = 0);      /* fetch_max */
#ifndef MUTANT_EvictsHolder
    STEP(if :: cell_held[q] == 0 :: else -> goto END_OF_EVICTION fi);
#endif
passed_over:
    STEP(membership[q] = NONE; waiting = waiting & ~BIT(q); turns[q] = 0; goto END_OF_EVICTION);

enter:  /* The entry step. It may have been told as well by one that stood behind it in the lock's queue, and was late. */
#ifdef MUTANT_EntryCheckBeforeFlag
    FREE_STEP(if :: evicted[i] -> goto refused :: else fi);
    STEP(cell_held[i] = TRYING; assert(inside == 0); inside = inside | BIT(i); WON; goto won);
#else
    FREE_STEP(cell_held[i] = TRYING);
    STEP(if
#ifndef MUTANT_EntersUnasked
         :: evicted[i] -> goto refused
         :: evictions < EVICTIONS && !evicted[i] -> evictions++; goto refused
         :: !evicted[i]
#else
         :: skip
#endif
         fi;
         assert(inside == 0);    /* EXCLUSION */
         inside = inside | BIT(i); WON; goto won);
#endif
refused:
#ifdef MUTANT_RetriesWithoutLock
    STEP(cell_held[i] = 0);
    NEW_DOORWAY
    goto rotate;
#else
    STEP(cell_held[i] = 0; q = 0; why = 0; goto join);
#endif
#endif

won:
#if EVICTING && WITHDRAWALS > 0
    if
    :: atomic { withdrawals < WITHDRAWALS && WANTED == ONE_TURN -> withdrawals++; why = 0; goto step_back }
    :: skip
    fi;
#endif
    STEP(q = 0; why = 0;
#ifndef MUTANT_NoHeld
         cell_held[i] = HELD
#endif
        );
section:
    STEP(health = lock_state; working = working | BIT(i);
         assert(health != CONSISTENT || (left == right && !torn)));    /* NOTICE */
    if
    :: atomic { health == CONSISTENT -> skip }
    :: atomic { health == INCONSISTENT -> skip };
       STEP(right = left);
       STEP(lock_state = CONSISTENT; health = CONSISTENT; torn = 0)
    fi;
    STEP(left = 1 - left);
    STEP(right = left);
exit:
    STEP(working = working & ~BIT(i); cell_held[i] = ON_ITS_WAY_OUT; q = i; own = 1;
#ifdef MUTANT_MembershipBeforePass
         goto early
#else
         goto leave
#endif
        );
#ifdef MUTANT_MembershipBeforePass
early:
    STEP(membership[i] = NONE; goto leave);
#endif

    /* ---- Ring::pass for machine q, which has the privilege: our own, or that of an absent one. ---- */
leave:
    atomic { j = 0; to = NOBODY; at = 1; near = q };
memberships:
    STEP(members = (membership[j] != NONE -> members | BIT(j) : members); j++; if :: j < N -> goto memberships :: else -> j = 0 fi);
renew:  /* Each time the first store that is still to be done; the last look finds none. */
    STEP(do
         :: at < N && !MEMBER(AT) -> at++
         :: at < N && MEMBER(AT) && vg[AT] == near + 1 && absent_between[AT] == GAP ->
            if :: to == NOBODY -> to = AT; distance = at :: else fi;
            near = AT; near_at = at; at++; given = 0
         :: else -> break
         od;
         if
#ifndef MUTANT_StateNotRenewed
         :: at < N && vg[AT] == 0 && !given ->
            given = 1;
#if RULE == 1
            j = at + 1; do :: j < N && !(MEMBER(RIGHT_OF(q, j)) && vg[RIGHT_OF(q, j)] != 0) -> j++ :: else -> break od;
            state[AT] = (BOTTOM(AT, near + 1) -> (j < N -> state[RIGHT_OF(q, j)] : (state[near] + 1) % BOUND) : state[near]);
            j = 0;
#elif RULE == 2
            state[AT] = (state[near] + GAP + 1) % BOUND;
#endif
            ONLY(q); goto renew
         :: at < N && (vg[AT] != 0 || given) ->
#else
         :: at < N ->
#endif
            SET_LINK(AT, near + 1, GAP);
            ONLY(q); goto renew
         :: at == N && (vg[q] != near + 1 || absent_between[q] != GAP) ->
            SET_LINK(q, near + 1, GAP); ONLY(q); goto renew
         :: else
         fi;
#ifndef MUTANT_UnlinkAfterPass
         do :: j < N && !DROPPED(j) -> j++ :: else -> break od;
         if :: j < N -> l = j; SET_LINK(l, 0, 0); l = 0; ONLY(q); goto renew :: else -> j = 0 fi;
#endif
         near = 0; near_at = 0; at = 0);
pass:
    STEP(if
         :: to != NOBODY ->
            state[q] = PASSED_ON(q, vg[q], absent_between[q], state[q], state[vg[q] - 1], distance);
            moved = moved | finding; inside = inside & ~BIT(i); ONLY(to)
         :: else -> if :: !own -> inside = inside & ~BIT(i) :: else fi
         fi;
         distance = 0;
#ifdef MUTANT_UnlinkAfterPass
         goto late
#else
         members = 0; q = 0
#endif
        );
#ifdef MUTANT_UnlinkAfterPass
late:
    STEP(do :: j < N && !DROPPED(j) -> j++ :: else -> break od;
         if :: j < N -> l = j; SET_LINK(l, 0, 0); l = 0; goto late :: else -> j = 0 fi;
         members = 0; q = 0);
#endif
    if
    :: atomic { !own && to == NOBODY -> to = 0; goto settled }
    :: atomic { !own && to != NOBODY -> to = 0; goto settle }
    :: atomic { own -> own = 0 }
    fi;

passed: /* A standing member goes on waiting at once. */
    STEP(inside = inside & ~BIT(i);
         if
         :: membership[i] == EVERY_TURN -> turns[i] = 0; waiting = waiting | BIT(i);
            OUT(wake)
         :: else -> membership[i] = NONE; q = i; why = FOR_PASSED;
            OUT(look)
         fi);
#if EVICTING
out:    /* The last of the entry step. */
    STEP(cell_held[i] = 0; if :: why == FOR_PASSED -> goto look :: else -> goto wake fi);
#endif
beside: /* It is here, and we do not want it: looks for another member (Ring::is_wanted_beside). */
    FREE_STEP(if
         :: j != i && membership[j] != NONE -> j = 0; q = 0; after = FOR_TAKE;
#ifdef MUTANT_LeavesUnsettled
            goto take
#else
            goto unsettled
#endif
         :: else -> j++; if :: j < N -> goto beside :: else -> j = 0; q = 0; goto take fi
         fi);
wake:   /* Whether the machine that has it now has a member. */
    FREE_STEP(q = 0;
         if
#ifndef MUTANT_PassesUnsettled
         :: to != NOBODY && membership[to] == NONE -> to = 0; after = FOR_TAKE; goto unsettled
#endif
         :: else -> to = 0; goto take
         fi);

#if EVICTING && WITHDRAWALS > 0
step_back:
    STEP(cell_held[i] = 0; inside = inside & ~BIT(i));
#endif
withdraw:
    FREE_STEP(membership[i] = NONE; waiting = waiting & ~BIT(i); turns[i] = 0; q = i; why = FOR_WITHDRAW; goto look);

    /* ---- liveness::clear for q, with q's byte lock in hand. Every step may be repeated by the next reaper. ---- */
reap:
#ifdef MUTANT_NoticeAfterMembership
    STEP(membership[q] = NONE);
#endif
    if
    :: atomic { cell_held[q] == 0 -> goto reap_notice }
#if EVICTING
    :: atomic { cell_held[q] == TRYING -> goto reap_trying }
#endif
    :: atomic { cell_held[q] == HELD ->
                assert((died_holding & BIT(q)) != 0);    /* NOTICE */
                lock_state = INCONSISTENT }
    OR_ENDS
    fi;
reap_trying:
    STEP(cell_held[q] = 0; died_holding = died_holding & ~BIT(q));
reap_notice:
    FREE_STEP(membership[q] = NONE);
reap_cleared:
    FREE_STEP(if
         :: after == FOR_ATTACH -> after = 0; q = 0; goto take
         :: else -> byte_lock[q] = (byte_lock[q] == i + 1 -> 0 : byte_lock[q]); q = 0; goto unsettled
         fi);

detach:
    FREE_STEP(byte_lock[i] = 0; goto gone);

dead:   /* kill -9: memory stays as it is, the kernel drops the locks. A newcomer takes the slot, or none does. */
    atomic {
        if :: cell_held[i] == HELD -> died_holding = died_holding | BIT(i) :: else fi;
        if :: working & BIT(i) -> torn = 1 :: else fi;
        inside = inside & ~BIT(i); working = working & ~BIT(i); waiting = waiting & ~BIT(i); turns[i] = 0; looks[i] = 0;
        finding = finding & ~BIT(i); moved = moved & ~BIT(i);
#if EVICTING
        named = (reconfiguration == i + 1 -> 0 : named);
#endif
        reconfiguration = (reconfiguration == i + 1 -> 0 : reconfiguration);
        j = 0;
        do
        :: j < N -> turns[j] = turns[j] & ~BIT(i); byte_lock[j] = (byte_lock[j] == i + 1 -> 0 : byte_lock[j]); j++
        :: else -> break
        od;
        FORGET;
#if NEWCOMERS
        if :: goto claim :: goto gone fi
#else
        goto gone
#endif
    };
#if STOPS > 0
halts:
end_halted:
    atomic { false -> skip };
#endif
gone:
    skip
}

init {
    atomic {
        byte p = 0;
        do
        :: p < N -> byte_lock[p] = p + 1; run Participant(p); p++
        :: else -> break
        od
    }
}
