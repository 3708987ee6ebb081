/* A barrier of n parties, where every participant sees every access at once (sequential consistency).
 *
 * MODELLED: one barrier of PARTIES parties, and N slots. A participant has ROUNDS rounds; in each it does one of what its ACTS allow:
 * it waits, resets, or leaves the slot in good order. It may stop before they are over, and live. A participant may be killed
 * before every step (DEATHS times in all): as the one that arrives last, while it breaks, resets or reaps, or when it has stopped.
 * A newcomer takes the slot, or none ever does (NEWCOMERS=0: none). The limit of a waiter may be over (TIME_OUTS).
 *
 * A member is a participant whose entry says that it waited here, in whatever generation and with whatever outcome. Its death breaks
 * the barrier for all that wait, until a reset.
 *
 * Sleeping is modelled: the futex word `wake` (as a bit for each participant: it has changed since that one read it), and who is
 * asleep. With NAPS=0 only a wake-up ends a sleep, so that a missed one shows; with NAPS=1 every sleep ends by itself. A nap is over
 * when there is something to do, and not before: else a waiter whose party never comes would be between two naps for ever. So the
 * guards of `end_asleep` are what a waiter looks for after a nap.
 *
 * LEFT OUT: what the barrier broke on, which stands in its state for reports only; that a participant breaks it without a cause (abort);
 * participants that take no step any more; generations wrapping round.
 *
 * THE LABELS are the code's steps (core/src/coordination/barrier.rs, src/kind/barrier.rs):
 *   attach, leave               the byte lock of the slot; what the dead one left there is reaped first; an orderly leave
 *   wait, arrive, count, tripped    arrive: from the look at the state to being counted; the last one
 *   look, outcome, end_asleep   the sleep, with the naps of look_after; standing
 *   told_passed, told_broken    standing: a member from now on
 *   nap, time_out               a cell is DIED, or the limit is over: both break_generation
 *   break_generation, break_on  break_generation, break_as
 *   finish_breaking             every ARRIVED(g) -> BREACHED(g), then BREAKING -> BROKEN, by any that finds it so
 *   reset, again, break_open, forget_deaths, open    reset_barrier: reap, break, DIED -> NONE, the next generation
 *   reap                        reap, with the byte lock in hand
 *
 * ASSERTED, each named where it stands:
 *   OUTCOME    a wait passes only if its generation tripped, with arrivals from n different slots, and fails, once it is counted,
 *              only if that broke
 *   CAUSE      it breaks on a death only if a member died that no reset has forgotten, and on a time-out in the waiter's generation
 *   LOST       when nothing more can happen, every participant asleep waits in the present generation, which is open, and no member
 *              has died since the last reset opened it
 * and by Spin itself NO DEADLOCK: no participant is stuck but in its sleep.
 *
 * MUTANTS: -DMUTANT_name, each at its place. README.md says what they are.
 */
#ifndef N
#define N 2                 /* slots */
#endif
#ifndef PARTIES
#define PARTIES 2
#endif
#ifndef ROUNDS
#define ROUNDS 2            /* how often a participant waits, resets or leaves */
#endif
#ifndef AGAIN
#define AGAIN 0             /* how often participant 0 does beyond that */
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef TIME_OUTS
#define TIME_OUTS 0
#endif
#ifndef NEWCOMERS
#define NEWCOMERS 1         /* 0: no newcomer takes the place of a dead one */
#endif
#ifndef NAPS
#define NAPS 1              /* 0: a sleep has no end but the wake-up (then without deaths) */
#endif
#ifndef ACTS                /* what participants 0 to 2 choose from, a bit each: wait = 1, reset = 2, leave = 4 */
#define ACTS 3
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
#define MAY_ACT(a) ((i == 0 -> ACTS_0 : (i == 1 -> ACTS_1 : ACTS_2)) & (a))

/* ---- The file ------------------------------------------------------------------------------------------------------ */
#define IS_OPEN 0           /* the state: 16 * generation + 4 * arrivals + phase */
#define IS_BREAKING 1
#define IS_BROKEN 2
#define PHASE(s) ((s) & 3)
#define ARRIVALS(s) (((s) >> 2) & 3)
#define GENERATION(s) ((s) >> 4)
#define OPEN(g, arrivals) (16 * (g) + 4 * (arrivals) + IS_OPEN)
#define BREAKING(g) (16 * (g) + IS_BREAKING)
#define BROKEN(g) (16 * (g) + IS_BROKEN)
#define BY_RESET 4          /* added to a state that is not open: a reset broke it, and opens it anew */
#define IS_BY_RESET(s) (PHASE(s) != IS_OPEN && ARRIVALS(s) == 1)
byte state;
#define NONE 0              /* an entry: 8 * generation + state */
#define HAS_ARRIVED 1
#define IS_MEMBER 2
#define IS_BREACHED 3
#define HAS_DIED 4
#define STATE(e) ((e) & 7)
#define NUMBER(e) ((e) >> 3)
#define ARRIVED(g) (8 * (g) + HAS_ARRIVED)
#define MEMBER(g) (8 * (g) + IS_MEMBER)
#define BREACHED(g) (8 * (g) + IS_BREACHED)
#define DIED(g) (8 * (g) + HAS_DIED)
byte entry[N];
bit woken[N];               /* the futex word `wake` has changed since this participant read it */

/* ---- The kernel, and the slots' states -------------------------------------------------------------------------------- */
byte byte_lock[N];          /* 0 = free, p + 1 = participant p has it */
bit in_use[N];              /* the slot has a participant, or one that is dead and not reaped */
bit asleep[N];

/* ---- What only the checker knows ------------------------------------------------------------------------------------ */
#define BIT(p) (1 << (p))
int passed, broken;         /* the generations that tripped, and those that broke */
byte counted;               /* the slots that were counted in this generation */
byte dead_members;          /* died since the last reset opened the barrier: no waiter may wait for them */
byte died;                  /* these, and those that died before it, but that it did not forget */
byte unreaped;              /* of those, the ones whose entry does not say so yet */
bit lost;                   /* asserted to be 0 */
byte deaths, time_outs;

#define MAY_DIE atomic { deaths < DEATHS -> deaths++; goto dead }
#if DEATHS > 0
#define STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_DIE fi
#else
#define STEP(...) atomic { __VA_ARGS__ }
#endif
#if N == 2
#define ANY(of) (of(0) || of(1))
#define SUM(of) (of(0) + of(1))
#define ALL_(array, value) array[0] = value; array[1] = value
#else
#define ANY(of) (of(0) || of(1) || of(2))
#define SUM(of) (of(0) + of(1) + of(2))
#define ALL_(array, value) array[0] = value; array[1] = value; array[2] = value
#endif

#define IS_DEAD(p) (in_use[p] && byte_lock[p] == 0)
#define WAS_HERE(p) (STATE(entry[p]) == HAS_ARRIVED || STATE(entry[p]) == IS_MEMBER || STATE(entry[p]) == IS_BREACHED)
#define IS_DIED(p) (STATE(entry[p]) == HAS_DIED)
#define WAKE_ALL STEP(ALL_(woken, 1)); STEP(ALL_(asleep, 0))

/* What a waiter looks for after a nap: a dead one among those after it, up to and including the next one that waits too. */
#define BEHIND(d) ((i + (d)) % N)
#ifdef MUTANT_BreachedUnchecked
#define IS_DEAD_MEMBER(p) (IS_DEAD(p) && WAS_HERE(p) && STATE(entry[p]) != IS_BREACHED)
#else
#define IS_DEAD_MEMBER(p) (IS_DEAD(p) && WAS_HERE(p))
#endif
#define WAITS_TOO(p) (entry[p] == ARRIVED(GENERATION(state)))
#ifdef MUTANT_WaiterBehindUnchecked
#define IS_CHECKED(p) (IS_DEAD_MEMBER(p) && !WAITS_TOO(p))
#else
#define IS_CHECKED(p) IS_DEAD_MEMBER(p)
#endif
#define IS_OURS(s) (GENERATION(s) == g && PHASE(s) == IS_OPEN)

/* The end of a generation. */
#ifdef MUTANT_BreaksWithoutMarking
#define TO_BREAK(g) BROKEN(g)
#else
#define TO_BREAK(g) BREAKING(g)
#endif
#define BREAK(w, by) state = TO_BREAK(GENERATION(w)) + (by); broken = broken | BIT(GENERATION(w)); counted = 0
/* Of the deaths from before this, a reset forgets those that it found, and no others. */
#define IS_LEFT(p) (IS_DIED(p) || unreaped & BIT(p) -> BIT(p) : 0)
#define OPENED(g) state = OPEN(g, 0); counted = 0; died = died & SUM(IS_LEFT); dead_members = 0

/* What a reset clears, and from where it opens. */
#ifdef MUTANT_ResetForgetsNewDeaths
#define IS_FORGOTTEN(e) (STATE(e) == HAS_DIED)
#else
#define IS_FORGOTTEN(e) (STATE(e) == HAS_DIED && NUMBER(e) <= g)
#endif
#ifdef MUTANT_ResetForgetsWaiters
#define PHASE_TO_OPEN 1
#else
#define PHASE_TO_OPEN (PHASE(w) == IS_BROKEN)
#endif

/* The assertions. */
#define IS_LOST(p) (asleep[p] && (PHASE(state) != IS_OPEN || entry[p] != ARRIVED(GENERATION(state)) || dead_members != 0))

/* Where `finish_breaking` and `reap` go on when they are done. */
#define FOR_ATTACH 0
#define FOR_ARRIVE 1
#define FOR_OUTCOME 2
#define FOR_RESET 3
#define FOR_NAP 4
#define FOR_REOPENING 5

proctype Participant(byte i) {
    byte j, q, w, g, rounds, after;
    byte r;     /* one more than the generation that our reset has broken, or found broken */

attach: /* The slot is that of the holder of its byte lock. What a dead one left there is reaped first. */
    atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; rounds = ROUNDS + (i == 0 -> AGAIN : 0) };
    if
    :: atomic { in_use[i] -> q = i; after = FOR_ATTACH; goto reap }
    :: atomic { !in_use[i] -> in_use[i] = 1 }
    fi;

take:   /* One thing more, or the end. */
    if
    :: atomic { rounds > 0 && MAY_ACT(1) -> rounds--; goto wait }
    :: atomic { rounds > 0 && MAY_ACT(2) -> rounds--; goto reset }
#if ACTS_0 > 3 || ACTS_1 > 3 || ACTS_2 > 3
    :: atomic { rounds > 0 && MAY_ACT(4) -> goto leave }
#endif
    :: atomic { rounds = 0; goto end_gone }
    fi;

wait:   /* It fails if it is broken, but by a reset: then it opens the next generation, in the place of the one that resets. */
    atomic { w = state };
    if
    :: atomic { PHASE(w) == IS_BROKEN && !IS_BY_RESET(w) -> w = 0; goto take }
    :: atomic { PHASE(w) == IS_BROKEN && IS_BY_RESET(w) -> g = GENERATION(w); after = FOR_REOPENING; goto forget_deaths }
    :: atomic { PHASE(w) == IS_BREAKING && !IS_BY_RESET(w) -> g = GENERATION(w); after = FOR_ARRIVE; goto finish_breaking }
    :: atomic { PHASE(w) == IS_BREAKING && IS_BY_RESET(w) -> g = GENERATION(w); w = 0; after = FOR_REOPENING; goto finish_breaking }
    :: atomic { PHASE(w) == IS_OPEN && IS_DIED(i) -> q = i; after = FOR_ARRIVE; goto break_on }     /* the one before us in this slot */
    :: atomic { PHASE(w) == IS_OPEN && !IS_DIED(i) -> g = GENERATION(w) }
    fi;
arrive:
#ifndef MUTANT_CountedBeforeArrival
    STEP(entry[i] = ARRIVED(g));
#endif
#if DEATHS > 0
last:   /* The last one does not go on without one that is written down as dead. */
    if
    :: atomic { ARRIVALS(w) + 1 == PARTIES && IS_DIED(0) -> q = 0; after = FOR_ARRIVE; goto break_on }
    :: atomic { ARRIVALS(w) + 1 == PARTIES && IS_DIED(1) -> q = 1; after = FOR_ARRIVE; goto break_on }
#if N > 2
    :: atomic { ARRIVALS(w) + 1 == PARTIES && IS_DIED(2) -> q = 2; after = FOR_ARRIVE; goto break_on }
#endif
    :: atomic { ARRIVALS(w) + 1 != PARTIES || !ANY(IS_DIED) -> skip }
    fi;
#endif
count:
    STEP(if
         :: state == w && ARRIVALS(w) + 1 < PARTIES ->
            state = OPEN(g, ARRIVALS(w) + 1); w = 0;
            assert(!(counted & BIT(i)));    /* OUTCOME */
            counted = counted | BIT(i)
         :: state == w && ARRIVALS(w) + 1 == PARTIES ->
            state = OPEN(g + 1, 0); w = 0;
            assert(!(counted & BIT(i)));    /* OUTCOME */
            counted = 0; passed = passed | BIT(g);
            goto tripped
         :: else -> goto wait
         fi);
#ifdef MUTANT_CountedBeforeArrival
    STEP(entry[i] = ARRIVED(g));
#endif

look:
#ifndef MUTANT_WakeReadAfterLook
    STEP(woken[i] = 0);
#endif
#ifdef MUTANT_OutcomeByState
    atomic { q = entry[i] };
    atomic { w = state };
#else
    atomic { w = state };
    atomic { q = entry[i] };
#endif
outcome:
    if
    :: atomic { GENERATION(w) == g && PHASE(w) == IS_OPEN -> w = 0; q = 0 }
    :: atomic { GENERATION(w) == g && PHASE(w) != IS_OPEN -> w = 0; q = 0; after = FOR_OUTCOME; goto finish_breaking }
    :: atomic { GENERATION(w) > g && q == BREACHED(g) -> w = 0; q = 0; goto told_broken }
    :: atomic { GENERATION(w) > g && q != BREACHED(g) -> w = 0; q = 0;
                assert(passed & BIT(g));    /* OUTCOME */
                goto told_passed }
    fi;
#ifdef MUTANT_WakeReadAfterLook
    STEP(woken[i] = 0);
#endif
    STEP(if :: woken[i] -> goto look :: else -> asleep[i] = 1 fi);       /* futex_wait */
end_asleep:
    if
    :: atomic { !asleep[i] -> goto look }
#if NAPS
    :: atomic { asleep[i] && !IS_OURS(state) -> asleep[i] = 0; goto look }
#if DEATHS > 0
#ifndef MUTANT_DiedUnseen
    :: atomic { asleep[i] && IS_OURS(state) && IS_DIED(0) -> asleep[i] = 0; q = 0; goto nap }
    :: atomic { asleep[i] && IS_OURS(state) && IS_DIED(1) -> asleep[i] = 0; q = 1; goto nap }
#if N > 2
    :: atomic { asleep[i] && IS_OURS(state) && IS_DIED(2) -> asleep[i] = 0; q = 2; goto nap }
#endif
#endif
    :: atomic { asleep[i] && IS_OURS(state) && IS_CHECKED(BEHIND(1)) ->
                asleep[i] = 0; q = BEHIND(1); byte_lock[q] = i + 1; after = FOR_NAP; goto reap }
#if N > 2
    :: atomic { asleep[i] && IS_OURS(state) && !WAITS_TOO(BEHIND(1)) && IS_CHECKED(BEHIND(2)) ->
                asleep[i] = 0; q = BEHIND(2); byte_lock[q] = i + 1; after = FOR_NAP; goto reap }
#endif
#endif
#endif
#if TIME_OUTS > 0
    :: atomic { asleep[i] && time_outs < TIME_OUTS -> time_outs++; asleep[i] = 0; goto time_out }
#endif
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;

#if TIME_OUTS > 0
time_out: /* If it has tripped meanwhile, or broken, its outcome is that. */
    atomic { w = state };
    if
    :: atomic { IS_OURS(w) -> skip };
#ifdef MUTANT_TimeOutByStore
       STEP(assert(IS_OURS(state));    /* CAUSE */
            BREAK(w, 0); w = 0; after = FOR_OUTCOME; goto finish_breaking)
#else
       STEP(if
            :: state == w ->
               assert(IS_OURS(state));    /* CAUSE */
               BREAK(w, 0); w = 0; after = FOR_OUTCOME; goto finish_breaking
            :: else -> w = 0; goto time_out
            fi)
#endif
    :: atomic { !IS_OURS(w) -> w = 0; goto look }
    fi;
#endif

#if DEATHS > 0
nap:
    if
    :: atomic { IS_DIED(q) -> after = FOR_OUTCOME }
    :: atomic { !IS_DIED(q) -> q = 0; goto look }
    fi;
#endif
break_generation: /* While ours is open, no reset has come since we arrived, and the death counts. A later one might be without it. */
    atomic { w = state };
    if
#ifdef MUTANT_BreaksByLaterState
    :: atomic { PHASE(w) == IS_OPEN -> skip }
    :: atomic { PHASE(w) != IS_OPEN -> w = 0; q = 0; after = 0; goto look }
#else
    :: atomic { IS_OURS(w) -> skip }
    :: atomic { !IS_OURS(w) -> w = 0; q = 0; after = 0; goto look }
#endif
    fi;
break_on:
    STEP(if
         :: state == w ->
            assert(died & BIT(q));    /* CAUSE */
            BREAK(w, 0); g = GENERATION(w); w = 0; q = 0; goto finish_breaking
         :: else -> w = 0
         fi);
    if
    :: atomic { after == FOR_ARRIVE -> after = 0; q = 0; goto wait }
    :: atomic { after == FOR_OUTCOME -> goto break_generation }
    fi;

tripped: /* The last one. */
    STEP(entry[i] = MEMBER(g); g = 0);
    WAKE_ALL;
    goto take;
told_passed:
    STEP(entry[i] = MEMBER(g); g = 0);
    goto take;
told_broken:
    STEP(assert(broken & BIT(g));    /* OUTCOME */
         entry[i] = MEMBER(g); g = 0; goto take);

finish_breaking: /* Before the next generation opens, all that were counted in this one have it in their entries that it broke. */
    atomic { j = 0 };
    do
    :: atomic { j < N && entry[j] == ARRIVED(g) -> skip };
       STEP(if :: entry[j] == ARRIVED(g) -> entry[j] = BREACHED(g) :: else fi; j++)
    :: atomic { j < N && entry[j] != ARRIVED(g) -> j++ }
    :: atomic { j >= N -> j = 0; break }
    od;
    STEP(if :: PHASE(state) == IS_BREAKING && GENERATION(state) == g -> state = state - IS_BREAKING + IS_BROKEN :: else fi);
    WAKE_ALL;
    if
    :: atomic { after == FOR_ARRIVE -> after = 0; w = 0; g = 0; goto take }
    :: atomic { after == FOR_REOPENING -> after = 0; g = 0; goto wait }
    :: atomic { after == FOR_OUTCOME -> after = 0; goto told_broken }
    :: atomic { after == FOR_RESET -> after = 0; g = 0; goto again }
    fi;

reset:  /* The dead members are reaped first. */
#if DEATHS > 0
    do
    :: atomic { j < N && j != i && IS_DEAD_MEMBER(j) -> q = j; byte_lock[q] = i + 1; after = FOR_RESET; goto reap }
    :: atomic { j < N && (j == i || !IS_DEAD_MEMBER(j)) -> j++ }
    :: atomic { j >= N -> j = 0; break }
    od;
#endif
again:  /* Another participant may have opened the next generation: those that wait came after that. */
    atomic { w = state };
    if
    :: atomic { r != 0 && GENERATION(w) + 1 != r -> w = 0; r = 0; goto take }
    :: atomic { r == 0 || GENERATION(w) + 1 == r -> skip }
    fi;
    if
    :: atomic { PHASE(w) == IS_OPEN && ARRIVALS(w) == 0 -> skip }
#ifdef MUTANT_ResetForgetsWaiters
    :: atomic { PHASE(w) == IS_OPEN && ARRIVALS(w) != 0 -> g = GENERATION(w); goto forget_deaths }
#else
    :: atomic { PHASE(w) == IS_OPEN && ARRIVALS(w) != 0 -> goto break_open }
#endif
    :: atomic { PHASE(w) == IS_BREAKING -> g = GENERATION(w); r = g + 1; w = 0; after = FOR_RESET; goto finish_breaking }
    :: atomic { PHASE(w) == IS_BROKEN -> g = GENERATION(w); r = g + 1; goto forget_deaths }
    fi;
    do      /* None has arrived. Where a death is written down, it is broken all the same, before that is forgotten: one may arrive */
            /* beside us, and die. We would forget that too, and another that arrived would wait for ever. */
    :: atomic { j < N && !IS_DIED(j) -> j++ }
    :: atomic { j < N && IS_DIED(j) -> j = 0; break }
    :: atomic { j >= N -> j = 0; w = 0; r = 0; goto take }
    od;
#ifdef MUTANT_ResetSparesEmpty
    atomic { g = GENERATION(w); goto forget_deaths };
#endif
break_open:
    STEP(if
         :: state == w -> BREAK(w, BY_RESET); g = GENERATION(w); r = g + 1; w = 0; after = FOR_RESET; goto finish_breaking
         :: else -> w = 0; goto again
         fi);
forget_deaths: /* Another reset may have opened the next generation meanwhile: a death in that has its number, and stays. */
#if DEATHS > 0
    do
    :: atomic { j < N && IS_FORGOTTEN(entry[j]) -> q = entry[j] };
#ifdef MUTANT_ForgetsByStore
       STEP(entry[j] = NONE; q = 0; j++)
#else
       STEP(if :: entry[j] == q -> entry[j] = NONE :: else fi; q = 0; j++)
#endif
    :: atomic { j < N && !IS_FORGOTTEN(entry[j]) -> j++ }
    :: atomic { j >= N -> j = 0; break }
    od;
#endif
open:
    STEP(if
         :: state == w && PHASE_TO_OPEN -> OPENED(g + 1)
         :: else
         fi;
         w = 0; g = 0);
    if
    :: atomic { after == FOR_REOPENING -> after = 0; goto wait }
    :: atomic { after != FOR_REOPENING -> goto again }
    fi;

#if ACTS_0 > 3 || ACTS_1 > 3 || ACTS_2 > 3
leave:  /* In good order. If the one that had the slot before us died, that stays there until a reset. */
#ifdef MUTANT_LeaveClearsDied
    STEP(entry[i] = NONE);
#else
    STEP(if :: !IS_DIED(i) -> entry[i] = NONE :: else fi);
#endif
    STEP(in_use[i] = 0; rounds = 0);
    STEP(byte_lock[i] = 0);
    goto end_gone;
#endif

    /* ---- liveness::clear for q, with q's byte lock in hand. Every step may be repeated by the next reaper. ---- */
reap:
#if DEATHS > 0
    atomic { j = GENERATION(state) };                           /* not the entry's: the death was before this */
    STEP(if
#if defined(MUTANT_DeadPartyForgotten)
         :: WAS_HERE(q) -> entry[q] = NONE
#elif defined(MUTANT_DiedInItsGeneration)
         :: WAS_HERE(q) -> entry[q] = DIED(NUMBER(entry[q]))
#elif defined(MUTANT_BreachedForgotten)
         :: STATE(entry[q]) == IS_BREACHED -> entry[q] = NONE
         :: WAS_HERE(q) && STATE(entry[q]) != IS_BREACHED -> entry[q] = DIED(j)
#else
         :: WAS_HERE(q) -> entry[q] = DIED(j)
#endif
         :: else
         fi;
         unreaped = unreaped & ~BIT(q); j = 0);
    if
    :: atomic { after == FOR_ATTACH -> q = 0; goto take }
    :: atomic { after != FOR_ATTACH -> skip };
       STEP(in_use[q] = 0);
#ifdef MUTANT_DiedUnseen
       STEP(byte_lock[q] = 0; j = 0; if :: after == FOR_NAP -> goto nap :: else fi);
#endif
       STEP(byte_lock[q] = 0; q = 0; j = 0);
       if
       :: atomic { after == FOR_NAP -> after = 0; goto look }
       :: atomic { after == FOR_RESET -> after = 0; goto reset }
       fi
    fi;

dead:   /* kill -9: memory stays as it is, the kernel drops the byte locks. A newcomer takes the slot, or none does. */
    atomic {
        if :: WAS_HERE(i) -> dead_members = dead_members | BIT(i); died = died | BIT(i); unreaped = unreaped | BIT(i) :: else fi;
        if :: q < N && byte_lock[q] == i + 1 -> byte_lock[q] = 0 :: else fi;
        byte_lock[i] = 0; asleep[i] = 0;
        j = 0; q = 0; w = 0; g = 0; rounds = 0; after = 0;
#if NEWCOMERS
        if :: goto attach :: goto gone fi
#else
        goto gone
#endif
    };
#endif
end_gone: /* Alive, with its byte lock: it may still be killed. */
#if DEATHS > 0
    if
    :: MAY_DIE
    fi;
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
