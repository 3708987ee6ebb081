/* Turn-taking on a virtual ring, with death in it, where every access is seen by everyone at once (sequential consistency).
 * One model for the three rings: RULE=1 Dijkstra's K-state ring (K = N + 1), RULE=2 Raynal's ring modulo N * N, RULE=3 the
 * sum ring with STEPS from one machine to the next.
 *
 * MODELLED: one ring of N machines. Who may write which word is what src/algorithm/ring/mod.rs says. A participant becomes
 * a member under the reconfiguration lock, waits until the privilege is there, goes in, passes it on and ends its membership,
 * ROUNDS times; those in STANDING join once and stay on the ring until they have had their rounds. It may be killed before
 * every step, whatever it is doing (DEATHS times in all); a newcomer then takes its slot, or nobody ever does. A waiter that
 * finds the one with the privilege dead reaps it, and one that finds it without a membership acts for it, and may be killed
 * at that too (WATCHFUL=0: it looks for neither, and each participant that leaves must have seen to it). A waiter may give
 * up (WITHDRAWALS times in all).
 *
 * LEFT OUT: the reconfiguration lock's own works: it is free or somebody's, and the kernel frees a dead one's, as the bakery
 * does (bakery_sc.pml); fencing tokens, holders that repair nothing, resets and panics (the same); store buffers and
 * compilers; parking: a wait is a guard here; the bounds `slots_in_use` and `ring_bound`; garbage and `survey`,
 * which only begins a new ring here. The version of a link is one that never comes back: `looks` knows which participants
 * looked before it changed.
 *
 * THE LABELS are the code's steps (src/trace.rs); RingWait is in src/acquire/rotation.rs. A STEP has at most one access to a
 * word that another participant may write.
 *   attach, detach              the byte lock is taken and what a dead one left is finished; it is given back
 *   join, reconfigure           RingWait::join: the reconfiguration lock is taken; the membership is set under it
 *   settle, who, absent         RingWait::settle_here: Ring::who and Ring::absent_with_privilege, as long as they find one
 *   begin                       Ring::begin
 *   rotate                      RingWait::acquire: waiting for the turn
 *   look, states, lefts, again  Ring::has_privilege: the link, the states, the link
 *   won, section, exit          as in bakery_sc.pml
 *   leave, memberships, renew   Ring::pass and Ring::renew_links: all memberships, one by one; all links, each store a step
 *   pass, passed, wake          the state that passes the privilege on; the membership ended; what is left to see to
 *                               (rotation::leave)
 *   withdraw                    RingWait::depart: the membership ended while waiting
 *   reap, reap_notice, reap_cleared    liveness::clear (src/acquire/liveness.rs)
 * Labels beside those: claim, take, blocked (the wait), unsettled (takes the reconfiguration lock in order to settle),
 * looked, settled, beside (Ring::is_wanted_beside), dead, gone.
 *
 * ASSERTED, each named where it stands:
 *   EXCLUSION  one at a time, from `won` until the privilege is passed on; one that acts for another included
 *   PRIVILEGE  after every store of a pass one machine has the privilege: after the last one the next in order of service
 *              of those with a membership, until then the one that had it
 *   ORDER      a waiter is overtaken by each of the others at most once (but by a newcomer once more)
 *   NOTICE     a holder that is told nothing finds the data intact, and nobody died at work since the last repair; no notice
 *              tells of one that did not die as a holder
 * and by Spin itself NO DEADLOCK: no invalid end state, so nobody waits for ever.
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
#define NEWCOMERS 1         /* 0: nobody takes a dead one's slot */
#endif
#ifndef WATCHFUL
#define WATCHFUL 1
#endif

/* ---- src/algorithm/ring/rule.rs. `l` is the left neighbour + 1, as in the link's word. -------------------------------- */
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
bit cell_held[N];           /* Cell::held */
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
byte turns[N];              /* those who have won while this one waits */
byte died_holding;          /* the slots that died written down as holder and were not reaped yet */
byte finding, moved;        /* those in Ring::who; those of them whom the privilege moved under */
bit torn;                   /* a holder died at work since the last repair */
byte deaths, withdrawals;
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
#define ONLY(x) one = (EACH(HAS, +) == 1 && HAS(x)); assert(one)    /* PRIVILEGE */

#define MAY_DIE atomic { deaths < DEATHS -> deaths++; goto dead }
#if DEATHS > 0
#define STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_DIE fi
#else
#define STEP(...) atomic { __VA_ARGS__ }
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

#define NOBODY 255
#define WANTED ((STANDING & BIT(i)) != 0 -> EVERY_TURN : ONE_TURN)
#define AT RIGHT_OF(q, at)
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

claim:  /* The slot is that of whoever has its byte lock. First it finishes what a dead one left. */
    atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; rounds = ROUNDS; q = i; after = FOR_ATTACH };
attach:
    goto reap;

take:   /* One more turn, or the end. A standing member need not join. */
    if
    :: atomic { rounds == 0 && membership[i] == NONE -> goto detach }
    :: atomic { rounds == 0 && membership[i] != NONE -> after = FOR_TAKE; goto withdraw }
    :: atomic { rounds > 0 -> rounds--; if :: membership[i] == NONE -> goto join :: else -> goto rotate fi }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;

join:
#ifdef MUTANT_JoinWithoutLock
    STEP(membership[i] = WANTED; turns[i] = 0; waiting = waiting | BIT(i); q = i; why = FOR_JOIN; goto look);
#endif
    if
    :: atomic { reconfiguration == 0 -> reconfiguration = i + 1 }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;
reconfigure:
    STEP(membership[i] = WANTED; turns[i] = 0; waiting = waiting | BIT(i); after = FOR_ROTATE; finding = finding | BIT(i);
         goto who);

    /* ---- With the reconfiguration lock in hand: the machine that has the privilege and no member is acted for. ---- */
unsettled:
    if
    :: atomic { reconfiguration == 0 -> reconfiguration = i + 1 }
#if DEATHS > 0
    :: MAY_DIE
#endif
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
#if DEATHS > 0
    :: MAY_DIE
#endif
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
    STEP(l = vg[q]; k = absent_between[q];
         if :: l == 0 -> k = 0; goto looked :: else -> looks[i] = q + 1; j = 0 fi);
states:
#if RULE == 3
    STEP(mine = mine + state[j]; j++; if :: j < N -> goto states :: else -> j = 0; there = (mine % N == q) fi;
         if :: !there -> looks[i] = 0 :: else fi; mine = 0; l = 0; k = 0);
#else
    STEP(mine = state[q]);
lefts:
    STEP(there = THERE(q, l, k, mine, state[l - 1]); if :: !there -> looks[i] = 0 :: else fi; mine = 0; l = 0; k = 0);
#endif
    if
    :: atomic { !there -> goto looked }
    :: atomic { there ->
again:
#ifndef MUTANT_NoRevalidation
                there = (looks[i] == q + 1);
#endif
                looks[i] = 0; goto looked }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;
looked:
    atomic {
        if
        :: (why == FOR_ROTATE || why == FOR_JOIN) && there ->
           there = 0; assert(inside == 0);    /* EXCLUSION */
           inside = inside | BIT(i); WON; goto won
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
    atomic { after = 0; q = i; why = FOR_ROTATE; goto look };
blocked:    /* Until it is there, or at a machine that will not pass it on. */
    if
    :: atomic { HAS(i) -> goto look }
#if WATCHFUL
    :: atomic { EACH(ABSENT_THERE, ||) -> why = 0; q = 0; after = FOR_ROTATE; goto unsettled }
    :: atomic { EACH(DEAD_THERE, ||) -> why = 0; q = 0; do :: !DEAD_THERE(q) -> q++ :: else -> break od }
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS && WANTED == ONE_TURN -> withdrawals++; why = 0; goto withdraw }
#endif
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;
    STEP(if
         :: byte_lock[q] == 0 ->
#ifndef MUTANT_ReapWithoutByteLock
            byte_lock[q] = i + 1;
#endif
            after = FOR_ROTATE; goto reap
         :: else -> goto rotate
         fi);

won:
    STEP(q = 0; why = 0;
#ifndef MUTANT_NoHeld
         cell_held[i] = 1
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
    STEP(working = working & ~BIT(i); cell_held[i] = 0; q = i; own = 1;
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
         :: membership[i] == EVERY_TURN -> turns[i] = 0; waiting = waiting | BIT(i); goto wake
         :: else -> membership[i] = NONE; q = i; why = FOR_PASSED; goto look
         fi);
beside: /* It is here, and we do not want it: looks for another member (Ring::is_wanted_beside). */
    STEP(if
         :: j != i && membership[j] != NONE -> j = 0; q = 0; after = FOR_TAKE;
#ifdef MUTANT_LeavesUnsettled
            goto take
#else
            goto unsettled
#endif
         :: else -> j++; if :: j < N -> goto beside :: else -> j = 0; q = 0; goto take fi
         fi);
wake:   /* Whether the machine that has it now has a member. */
    STEP(q = 0;
         if
#ifndef MUTANT_PassesUnsettled
         :: to != NOBODY && membership[to] == NONE -> to = 0; after = FOR_TAKE; goto unsettled
#endif
         :: else -> to = 0; goto take
         fi);

withdraw:
    STEP(membership[i] = NONE; waiting = waiting & ~BIT(i); turns[i] = 0; q = i; why = FOR_WITHDRAW; goto look);

    /* ---- liveness::clear for q, with q's byte lock in hand. Every step may be repeated by the next reaper. ---- */
reap:
#ifdef MUTANT_NoticeAfterMembership
    STEP(membership[q] = NONE);
#endif
    if
    :: atomic { cell_held[q] == 0 -> goto reap_notice }
    :: atomic { cell_held[q] != 0 ->
                assert((died_holding & BIT(q)) != 0);    /* NOTICE */
                lock_state = INCONSISTENT }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;
    STEP(cell_held[q] = 0; died_holding = died_holding & ~BIT(q));
reap_notice:
    STEP(membership[q] = NONE);
reap_cleared:
    STEP(if
         :: after == FOR_ATTACH -> after = 0; q = 0; goto take
         :: else -> byte_lock[q] = (byte_lock[q] == i + 1 -> 0 : byte_lock[q]); q = 0; goto unsettled
         fi);

detach:
    STEP(byte_lock[i] = 0; goto gone);

dead:   /* kill -9: memory stays as it is, the kernel drops the locks. A newcomer takes the slot, or nobody does. */
    atomic {
        if :: cell_held[i] -> died_holding = died_holding | BIT(i) :: else fi;
        if :: working & BIT(i) -> torn = 1 :: else fi;
        inside = inside & ~BIT(i); working = working & ~BIT(i); waiting = waiting & ~BIT(i); turns[i] = 0; looks[i] = 0;
        finding = finding & ~BIT(i); moved = moved & ~BIT(i);
        reconfiguration = (reconfiguration == i + 1 -> 0 : reconfiguration);
        j = 0;
        do
        :: j < N -> turns[j] = turns[j] & ~BIT(i); byte_lock[j] = (byte_lock[j] == i + 1 -> 0 : byte_lock[j]); j++
        :: else -> break
        od;
        j = 0; q = 0; l = 0; k = 0; mine = 0; why = 0; after = 0; rounds = 0; members = 0; at = 0; near = 0; near_at = 0;
        to = 0; distance = 0; there = 0; given = 0; own = 0; health = 0;
#if NEWCOMERS
        if :: goto claim :: goto gone fi
#else
        goto gone
#endif
    };
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
