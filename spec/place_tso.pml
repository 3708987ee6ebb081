/* The retained place of a reader/writer lock or a semaphore, on x86 (total store order), or with TSO=0 where every participant sees
 * every access at once: a participant that was inside by its number leaves, keeps the number, and comes in again without a queue and
 * without a fence, until a waiter behind it evicts its place. (The privilege that stays where it was used last: Ricart and Agrawala 1983.)
 *
 * MODELLED: one lock of one file, and N slots. A participant queues with a claim, as in shared_tso.pml and claims_sc.pml: S, U or X of a
 * reader/writer lock (RELATION=1), or weight 1 or 2 of a semaphore with two permits (RELATION=2). A holder of X, or of permits, may
 * retain its place when it leaves; whether it does is a free choice. Its next entry is by the place: `held` = TRYING, then the look
 * whether the place is evicted. By a place of X it comes in as a writer or as a reader. A participant that wants something else
 * gives the place up first. A waiter that finds a retained place in its way evicts it, whether its participant runs, is stopped or dead:
 * `evicted` = `doorway`, membarrier, and a look at `held`. If that is 0, it clears the number by a compare-exchange; a token of one that is
 * inside as a reader keeps no reader waiting; any other is waited for. Readers bias the lock, writers revoke that, a holder of U
 * upgrades, as in shared_tso.pml. Deaths at every step (DEATHS), reaping, and newcomers unless NEWCOMERS=0; waiters that give up
 * (WITHDRAWALS); downgrades, or a part of the permits given back (DOWNGRADES); more and fewer permits (RESIZES: 3 and 2 again);
 * waiters that pass over any other one (EVICTIONS); holders that stay inside for ever (STAYS); waiters that sleep until they
 * are woken (PARKING). A participant that has done its rounds may leave its place behind for good: the others must come to their end.
 * The participants are of one process, whose threads pass a barrier by membarrier. FENCED_MODE is a file of several: a waiter that evicts
 * passes a full fence only, and so does one that comes in by its place, after `held` = TRYING (how a file comes to that: fences_tso.pml).
 * A leaver passes none: it may miss that its place is evicted and wake no waiter, so there every sleep ends by itself (the nap).
 * With SCAN=1 the doorway takes its steps one by one; else a number is drawn in one, which is a full fence.
 *
 * LEFT OUT: not recoverable, resets, panics (claims_sc.pml); participants that stop inside their entry step (biased_tso.pml); the
 * standby queue; when to retain a place, and for how long; numbers that begin again at 1: here they only grow, as in the code while a
 * place stands. Where a waiter looks at several words of others it does so at once: what did not bar it before does not later,
 * but for an upgrade, which every reader looks for again. With PARKING every sleep has an end only where a participant has died, and in
 * FENCED_MODE. There a nap is over when there is something to do, and not before: else a stuck one would be between two naps for ever.
 *
 * THE LABELS are the code's steps:
 *   again, refused              an entry by the place; it was evicted, so `held` = 0 and into the queue
 *   give_up                     number = 0 of a place that is not wanted
 *   retain                      the mark in the claim's word, `held` = 0, the look whether the place is evicted
 *   evict, look, clear          eviction of one that is in the way, the look at its `held`, its number taken away
 *   try, let_go, choose, wait, won, requeue, settle, exit, leave       a biased reader; the queue, and the entry step
 *   revoke, revoke_wait, cancel, upgrade, upgrade_drain, stay_upgradable, downgrade, reap     as in shared_tso.pml
 *
 * WHAT A NEWCOMER MUST KNOW
 *   - The mode of a place is what it bars, and the mode its participant is inside as is another thing: PLACE_S bars what X bars.
 *   - A number that stands is right only as long as its claim never takes more than it took before. So a holder that upgraded, or
 *     downgraded and wants X again, does not retain its place: a reader that looked in between comes in without evicting it.
 *   - The number that is cleared is the one that was read when it was found in the way, and one's own, which is larger, stands
 *     meanwhile: so it is not drawn again. Without that it is an ABA.
 *   - No waiter believes an eviction that another wrote down; each looks itself: as in biased_tso.pml.
 *   - An idle place that is not evicted has no waiter asleep behind it. That is why leaving it wakes none, but for the first time.
 *
 * ASSERTED, each named where it stands:
 *   EXCLUSION  no two conflicting claims inside; the weights inside are at most the permits
 *   ORDER      none enters before a conflicting one that had finished its doorway before this one began its own, unless that was
 *              passed over; by its place none enters that begins after the barrier of one that evicted it and waits on; by
 *              the bias none that begins after the barrier of one that revokes or upgrades
 *   PLACE      no biased reader is inside beside a place that is not evicted
 *   TOKEN      fencing tokens of writers strictly increase; a reader's is the last writer's
 *   NOTICE     one that is told nothing finds that no writer died at work; one that is told of a death is told of a writer's
 *   LENGTH     a buffer is long enough
 * and by Spin itself NO DEADLOCK: no invalid end state, so no participant waits for ever.
 *
 * MUTANTS: -DMUTANT_name, as README.md says.
 */
#define READER_WRITER 1
#define SEMAPHORE 2
#ifndef RELATION
#define RELATION READER_WRITER
#endif
#ifndef TSO
#define TSO 1               /* 0: every participant sees every access at once */
#endif
#ifndef FENCED_MODE
#define FENCED_MODE 0       /* 1: the participants are of several processes: full fences instead of membarrier */
#endif
#ifndef SCAN
#define SCAN 0              /* 1: the doorway step by step */
#endif
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
#ifndef NEWCOMERS
#define NEWCOMERS 1         /* 0: no newcomer takes the place of a dead one */
#endif
#ifndef WITHDRAWALS
#define WITHDRAWALS 0
#endif
#ifndef DOWNGRADES
#define DOWNGRADES 0        /* or releases of a part */
#endif
#ifndef RESIZES
#define RESIZES 0
#endif
#ifndef EVICTIONS
#define EVICTIONS 0
#endif
#ifndef STAYS
#define STAYS 0
#endif
#ifndef PARKING
#define PARKING 0
#endif
#ifndef BIASES
#define BIASES (RELATION == READER_WRITER)      /* 0: no reader biases the lock */
#endif
#ifndef CLAIMS              /* the claims that a participant chooses from, a bit each: S = 1, U = 2, X = 4, */
#define CLAIMS (RELATION == READER_WRITER -> 7 : 3)       /* or weight 1 = 1, weight 2 = 2 */
#endif
#ifndef CLAIMS_0
#define CLAIMS_0 CLAIMS
#endif
#ifndef CLAIMS_1
#define CLAIMS_1 CLAIMS
#endif
#ifndef CLAIMS_2
#define CLAIMS_2 CLAIMS
#endif
#define MAY_CLAIM(m) ((i == 0 -> CLAIMS_0 : (i == 1 -> CLAIMS_1 : CLAIMS_2)) & (1 << ((m) - 1)))
#ifndef RETAINERS           /* the participants that may retain their places, a bit each */
#define RETAINERS 7
#endif
#ifndef LENGTH
#define LENGTH (6 * (ROUNDS + AGAIN) + 8)
#endif

/* ---- The file, as memory has it -------------------------------------------------------------------------------------- */
#define S 1                 /* modes: two are compatible if they add up to at most 3 */
#define U 2
#define X 3
#define UPGRADING 4
#define PLACE 4             /* PLACE + mode: a place of X that is retained, and how its participant is inside, or was last; */
#define PLACE_S 5           /* PLACE + weight: one of that weight */
#define PLACE_X 7
#define TRYING 15
#define NOBODY 0            /* the bias word */
#define READERS 1
#define REVOKED 3           /* READERS, and being revoked */
#define UPGRADING_BY(p) (8 + (p))
#define CONSISTENT 0
#define INCONSISTENT 1
#define IDLE 0              /* the packed word: 0, 1 = choosing, n + 1 = number n */
#define CHOOSING 1
#define NUMBER(p) (p)
#define HELD(p) (N + (p))
#define MODE(p) (2 * N + (p))
#define BIAS (3 * N)
#define TOKEN (3 * N + 1)
#define STATE (3 * N + 2)
byte memory[3 * N + 3];
byte doorway[N];            /* written right before a fence */
byte evicted[N];            /* read-modify-writes only */
byte permits = 2;

/* ---- The store buffers: 16 * word + value, the oldest first ----------------------------------------------------------- */
#if TSO
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
#else
inline load(word, value) { value = memory[word] }
inline store(word, value) { memory[word] = value }
#define FENCED true
#endif

/* ---- The kernel ---------------------------------------------------------------------------------------------------- */
byte byte_lock[N];          /* 0 = free, p + 1 = participant p has it */
#if PARKING
byte parked[N];             /* p + 1: sleeps at slot p */
#endif

/* ---- What only the checker knows ------------------------------------------------------------------------------------ */
#define BIT(p) (1 << (p))
byte rights[N];             /* the mode or weight that one has inside; 0: it is not inside */
byte queued;                /* doorway finished, not yet in, withdrawn or dead */
byte before[N];             /* those of the queue that were there when this one began its doorway */
byte told[N];               /* the waiters that evicted this one's place, after their barrier, and wait on */
byte revoking;              /* those that revoke or upgrade, after their membarrier */
byte late[N];               /* of told (by its place) or revoking (by the bias), that this one's entry must not overtake */
byte retained;              /* those that have a place, as they know it themselves */
byte last_token;
#if DEATHS > 0
byte working;               /* of the holders of X: at work on the data */
bit torn, notice_due;       /* an X died at work since the last repair; an X died inside */
#endif
#if RELATION == SEMAPHORE
byte granted[N];            /* the permits there were when this one looked, which is inside */
byte allowed = 2;           /* the permits; as long as they are being made fewer, as many as before */
#endif
byte deaths, withdrawals, downgrades, evictions, resizes, stays;

#define MAY_DIE atomic { deaths < DEATHS -> deaths++; goto dead }
#if DEATHS > 0
#define STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_DIE fi
#else
#define STEP(...) atomic { __VA_ARGS__ }
#endif
#define FIRST (i == 0 -> 1 : 0)
#define SECOND (3 - i - FIRST)
#define NEXT(j) j = (j + 1 == i -> j + 2 : j + 1)
#define EARLIER(p) (memory[NUMBER(p)] != IDLE && (memory[NUMBER(p)] < number || (memory[NUMBER(p)] == number && p < i)) \
                    && !(passed & BIT(p)))
#define MARKED(p) (memory[MODE(p)] > PLACE)
#if RELATION == READER_WRITER
#define CLAIM(p) (MARKED(p) -> X : memory[MODE(p)])
#define TAKES(p) (mine + CLAIM(p) > 3)
#define ROOM 0
#else
#define CLAIM(p) (memory[MODE(p)] & 3)
#define TAKES(p) (CLAIM(p))
#define ROOM (permits - mine)
#endif
#define MUCH 9
#define TAKEN(p) (!EARLIER(p) -> 0 : (memory[NUMBER(p)] == CHOOSING -> MUCH : TAKES(p)))
#define TAKEN_BY_STANDING(p) (memory[NUMBER(p)] == CHOOSING -> 0 : TAKEN(p))
#if N == 2
#define NEITHER(condition) (!condition(FIRST))
#define SUM(of) (of(FIRST))
#define HIGHEST memory[NUMBER(FIRST)]
#else
#define NEITHER(condition) (!condition(FIRST) && !condition(SECOND))
#define SUM(of) (of(FIRST) + of(SECOND))
#define HIGHEST (memory[NUMBER(FIRST)] > memory[NUMBER(SECOND)] -> memory[NUMBER(FIRST)] : memory[NUMBER(SECOND)])
#endif
#define THERE_IS_ROOM (SUM(TAKEN) <= ROOM)
#define BARS(p) (TAKEN(p) != 0 && memory[NUMBER(p)] != CHOOSING && !THERE_IS_ROOM)
#if N == 2
#define LATEST FIRST
#else
#define LATEST (!BARS(SECOND) || (BARS(FIRST) && memory[NUMBER(FIRST)] > memory[NUMBER(SECOND)]) -> FIRST : SECOND)
#endif
#define DEAD(p) (byte_lock[p] == 0)

/* What keeps a waiter out for good when none takes a step any more: not a place whose participant is outside. */
#if RELATION == READER_WRITER
#define STAYS_BESIDE(p) (rights[p] == S && mine < X)
#else
#define STAYS_BESIDE(p) 0
#endif
#define TAKEN_FOR_GOOD(p) ((MARKED(p) && rights[p] == 0) || STAYS_BESIDE(p) -> 0 : TAKEN(p))
#define NEVER (timeout && SUM(TAKEN_FOR_GOOD) > ROOM)

/* What there is to do about the place of one that bars the way: to evict it, or to look again whether it is inside. */
#ifdef MUTANT_EvictsOneOnly
#define TO_EVICT(p) (BARS(p) && MARKED(p) && !(have_told & BIT(p)) && p == LATEST)
#elif defined(MUTANT_SleepsOnEviction)
#define TO_EVICT(p) (BARS(p) && MARKED(p) && !(have_told & BIT(p)) && (evicted[p] != doorway[p] || PASSABLE(p)))
#else
#define TO_EVICT(p) (BARS(p) && MARKED(p) && !(have_told & BIT(p)))
#endif
#ifdef MUTANT_NeverPassesReader
#define PASSABLE(p) (memory[HELD(p)] == 0)
#else
#define PASSABLE(p) (memory[HELD(p)] == 0 || (memory[HELD(p)] != TRYING && mine < X && RELATION == READER_WRITER && memory[MODE(p)] == PLACE_S))
#endif
#define TO_LOOK(p) (BARS(p) && MARKED(p) && (have_told & BIT(p)) && PASSABLE(p))
#define MAY_EVICT(p) (evictions < EVICTIONS && BARS(p) && !MARKED(p))
/* Nothing: it is waited for. */
#if defined(MUTANT_SleepsBehindTrying) || RELATION != READER_WRITER
#define IS_AWAITED(p) 0
#else
#define IS_AWAITED(p) (BARS(p) && MARKED(p) && memory[HELD(p)] == TRYING && mine < X)    /* may be inside as a reader */
#endif
#define KEEPS_BUSY(p) (TO_EVICT(p) || TO_LOOK(p) || IS_AWAITED(p))
#define MAY_SLEEP (SUM(TAKEN_BY_STANDING) > ROOM && NEITHER(KEEPS_BUSY))

#define BESIDE(p) (rights[p] != 0 && mine + rights[p] > 3)
#define IS_INSIDE(p) (rights[p] != 0)
#define OVERTAKEN(p) ((before[i] & BIT(p)) && mine + CLAIM(p) > 3)
#define OUT_OF(of, p) of[0] = of[0] & ~BIT(p); of[1] = of[1] & ~BIT(p); of[N - 1] = of[N - 1] & ~BIT(p)
#define OUT(p) queued = queued & ~BIT(p); revoking = revoking & ~BIT(p); OUT_OF(before, p); OUT_OF(told, p); OUT_OF(late, p)
/* No biased reader is inside beside a place that is not evicted. */
#define UNDISTURBED(p) ((retained & BIT(p)) && evicted[p] != doorway[p])
#if RELATION == SEMAPHORE
#define INSIDE(p) (rights[p])
#define INSIDE_OR_BEFORE(p) (rights[p] != 0 -> rights[p] : (before[i] & BIT(p) -> CLAIM(p) : 0))
#define GRANTED(p) (rights[p] != 0 -> granted[p] : 0)
#define MORE_OF(a, b) (a > b -> a : b)
#if N == 2
#define MOST_GRANTED MORE_OF(GRANTED(FIRST), granted[i])
#else
#define MOST_GRANTED MORE_OF(GRANTED(FIRST), MORE_OF(GRANTED(SECOND), granted[i]))
#endif
#define EXCLUSION (SUM(INSIDE) + mine <= MOST_GRANTED)
#define ORDER (SUM(INSIDE_OR_BEFORE) + mine <= MOST_GRANTED)
#else
#define EXCLUSION NEITHER(BESIDE)
#define ORDER NEITHER(OVERTAKEN)
#endif
#if DEATHS > 0
#define OUTSIDE rights[i] = 0; working = working & ~BIT(i)
#else
#define OUTSIDE rights[i] = 0
#endif
#define ENTER assert(EXCLUSION);    /* EXCLUSION */ \
    assert(ORDER);    /* ORDER */ \
    assert(late[i] == 0);    /* ORDER */ \
    rights[i] = mine; OUT(i); before[i] = 0

/* ---- Barriers ---- */
#define EVERYBODY ((1 << N) - 1 - BIT(i))
#define DRAINED(p) atomic { t & BIT(p) && buffered[p] == 0 -> t = t & ~BIT(p) }
#if !TSO
#define MEMBARRIER skip
#elif FENCED_MODE
#define MEMBARRIER STEP(FENCED)
#else
#if N == 2
#define PASS_BARRIER do :: DRAINED(0) :: DRAINED(1) :: atomic { t == 0 -> break } od
#else
#define PASS_BARRIER do :: DRAINED(0) :: DRAINED(1) :: DRAINED(2) :: atomic { t == 0 -> break } od
#endif
#define MEMBARRIER STEP(FENCED; t = EVERYBODY); PASS_BARRIER
#endif
#if FENCED_MODE && !defined(MUTANT_NoFenceInFencedMode)
#define BARRIER STEP(FENCED)
#else
#define BARRIER skip
#endif
#ifdef MUTANT_NoFenceToEvict
#define EVICT_BARRIER STEP(FENCED)
#else
#define EVICT_BARRIER MEMBARRIER
#endif

/* The sleepers at slot p; of a semaphore, the first one as well that waits. */
#if PARKING
#define UNPARK_IF(p, is) parked[p] = (is -> 0 : parked[p])
#define IS_WAITING(p) (memory[NUMBER(p)] > CHOOSING && memory[HELD(p)] == 0 && !MARKED(p))
#define GOES_FIRST(p, r) (!IS_WAITING(r) || memory[NUMBER(p)] < memory[NUMBER(r)] || (memory[NUMBER(p)] == memory[NUMBER(r)] && p <= r))
#if N == 2
#define UNPARK_AT(p) UNPARK_IF(0, parked[0] == p + 1); UNPARK_IF(1, parked[1] == p + 1)
#define IS_FIRST(p) (IS_WAITING(p) && GOES_FIRST(p, 0) && GOES_FIRST(p, 1))
#define UNPARK_FIRST UNPARK_IF(0, IS_FIRST(0)); UNPARK_IF(1, IS_FIRST(1))
#else
#define UNPARK_AT(p) UNPARK_IF(0, parked[0] == p + 1); UNPARK_IF(1, parked[1] == p + 1); UNPARK_IF(2, parked[2] == p + 1)
#define IS_FIRST(p) (IS_WAITING(p) && GOES_FIRST(p, 0) && GOES_FIRST(p, 1) && GOES_FIRST(p, 2))
#define UNPARK_FIRST c = (IS_FIRST(0) -> 0 : (IS_FIRST(1) -> 1 : (IS_FIRST(2) -> 2 : 9))); \
    UNPARK_IF(0, c == 0); UNPARK_IF(1, c == 1); UNPARK_IF(2, c == 2); c = 0
#endif
#if RELATION == SEMAPHORE
#define WAKE(p) STEP(FENCED; UNPARK_AT(p); UNPARK_FIRST)
#else
#define WAKE(p) STEP(FENCED; UNPARK_AT(p))
#endif
#else
#define WAKE(p) skip
#endif

#if RELATION == READER_WRITER
#define HINDERS(p) (TAKEN(p) != 0 || memory[HELD(p)] != 0)
#endif

#define DIED_WRITING(p) (RELATION == READER_WRITER && memory[HELD(p)] != 0 && memory[HELD(p)] != TRYING \
                         && (memory[MODE(p)] == X || memory[MODE(p)] == PLACE_X))
#ifdef MUTANT_DeadReaderIsOwnerDead
#define DIED_AS_WRITER(p) (DIED_WRITING(p) || (memory[HELD(p)] != 0 && memory[HELD(p)] != TRYING && memory[MODE(p)] == PLACE_S))
#elif defined(MUTANT_OwnerDeadByTrying)
#define DIED_AS_WRITER(p) (memory[HELD(p)] != 0 && (memory[MODE(p)] == X || memory[MODE(p)] == PLACE_X))
#else
#define DIED_AS_WRITER(p) DIED_WRITING(p)
#endif

#define FOR_QUEUE 0
#define FOR_REVOKE 1
#define FOR_UPGRADE 2
#define FOR_ATTACH 3

proctype Participant(byte i) {
    byte j, t, c, q, mine, number, place, rounds, after, passed, have_told, seen, my_token;
#if TSO
    byte k;
#endif
    bit by_upgrade, cleared, by_place, changed, marked;

    atomic { rounds = (i == 0 -> ROUNDS + AGAIN : ROUNDS); goto take };
#if DEATHS > 0 && NEWCOMERS
claim:
    atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; rounds = (i == 0 -> ROUNDS + AGAIN : ROUNDS); q = i; after = FOR_ATTACH; goto reap };
#endif

take:
#if RESIZES > 0
    if
    :: atomic { resizes < RESIZES -> resizes++ };
       if
       :: atomic { permits == 2 -> permits = 3; allowed = 3 }
       :: atomic { permits == 3 -> permits = 2 };
#ifndef MUTANT_ResizeLeavesPlaces
          do
          :: atomic { j < N -> q = doorway[j] }; STEP(FENCED; evicted[j] = (evicted[j] > q -> evicted[j] : q); q = 0; j++)
          :: atomic { j >= N -> j = 0; break }
          od;
          EVICT_BARRIER;
          atomic { t = 0 };
#endif
          atomic { allowed = permits }
       fi;
       WAKE(i)
    :: skip
    fi;
#endif
    if
    :: atomic { rounds == 0 -> goto gone }
    :: atomic { rounds > 0 && MAY_CLAIM(1) -> rounds--; mine = 1 }
    :: atomic { rounds > 0 && MAY_CLAIM(2) -> rounds--; mine = 2 }
    :: atomic { rounds > 0 && MAY_CLAIM(3) -> rounds--; mine = 3 }
    fi;
    if
    :: atomic { !(retained & BIT(i)) -> goto unretained }
#if RELATION == READER_WRITER
    :: atomic { retained & BIT(i) && mine == U -> goto give_up }
    :: atomic { retained & BIT(i) && mine != U -> skip }
#else
    :: atomic { retained & BIT(i) && mine != place -> goto give_up }
    :: atomic { retained & BIT(i) && mine == place -> skip }
#endif
    fi;

again:  /* Again by the place. */
#if RELATION == READER_WRITER && !defined(MUTANT_ModeAfterHeld)
    STEP(load(MODE(i), t); if :: t == PLACE + mine -> skip :: else -> store(MODE(i), PLACE + mine) fi; t = 0);
#endif
#ifdef MUTANT_EntryCheckBeforeFlag
    STEP(late[i] = told[i]; if :: evicted[i] == doorway[i] -> late[i] = 0; goto refused :: else fi);
    STEP(store(HELD(i), TRYING));
#else
    STEP(store(HELD(i), TRYING); late[i] = told[i]
#if RELATION == SEMAPHORE
         ; granted[i] = allowed
#endif
         );
    BARRIER;
    STEP(if :: evicted[i] == doorway[i] -> late[i] = 0; goto refused :: else fi);
#endif
    STEP(ENTER; by_place = 1);
    goto token;
refused: /* A later participant has it now. */
    STEP(store(HELD(i), 0));
give_up:
    STEP(store(NUMBER(i), 0); number = 0; retained = retained & ~BIT(i); place = 0);
#ifndef MUTANT_NoUnparkWhenRefused
    WAKE(i);
#endif

unretained:
    STEP(load(MODE(i), t); if :: t == mine -> skip :: else -> store(MODE(i), mine) fi; t = 0);
#if BIASES
    if
    :: atomic { mine != S -> goto choose }
    :: atomic { mine == S -> skip }
    fi;
    STEP(store(HELD(i), TRYING); late[i] = revoking);
    BARRIER;
try:
    STEP(load(BIAS, t);
         if :: t != READERS -> t = 0; late[i] = 0; goto let_go :: else -> t = 0 fi;
         assert(NEITHER(UNDISTURBED));    /* PLACE */
         ENTER);
    STEP(load(TOKEN, my_token); store(HELD(i), my_token + 1));
    goto section;
let_go:
    STEP(store(HELD(i), 0));
#endif

choose:
    STEP(FENCED; passed = 0; have_told = 0; changed = 0; cleared = 0; told[i] = 0; doorway[i]++);
#if SCAN
    STEP(before[i] = queued; number = CHOOSING; store(NUMBER(i), CHOOSING); j = FIRST);
    STEP(FENCED);
    do
    :: atomic { j < N -> number = (memory[NUMBER(j)] > number -> memory[NUMBER(j)] : number); NEXT(j) }
    :: atomic { j >= N -> j = 0; break }
#if DEATHS > 0
    :: MAY_DIE
#endif
    od;
    STEP(number++; store(NUMBER(i), number));
    STEP(FENCED; queued = queued | BIT(i));
#else
    STEP(before[i] = queued; number = 1 + (HIGHEST > CHOOSING -> HIGHEST : CHOOSING); memory[NUMBER(i)] = number; queued = queued | BIT(i));
#endif
wait:
    if
#if RELATION == SEMAPHORE
    :: atomic { THERE_IS_ROOM -> granted[i] = permits; goto won }
#else
    :: atomic { THERE_IS_ROOM -> goto won }
#endif
    :: atomic { TO_EVICT(FIRST) -> q = FIRST; seen = memory[NUMBER(q)]; goto evict }
    :: atomic { TO_LOOK(FIRST) -> q = FIRST; seen = memory[NUMBER(q)]; marked = 1; goto look }
#if N > 2
    :: atomic { TO_EVICT(SECOND) -> q = SECOND; seen = memory[NUMBER(q)]; goto evict }
    :: atomic { TO_LOOK(SECOND) -> q = SECOND; seen = memory[NUMBER(q)]; marked = 1; goto look }
#endif
#if EVICTIONS > 0
    :: atomic { MAY_EVICT(FIRST) -> evictions++; q = FIRST; goto evict }
#if N > 2
    :: atomic { MAY_EVICT(SECOND) -> evictions++; q = SECOND; goto evict }
#endif
#endif
#if DEATHS > 0
    :: atomic { BARS(FIRST) && DEAD(FIRST) && FENCED -> q = FIRST; byte_lock[q] = i + 1; after = FOR_QUEUE; goto reap }
#if N > 2
    :: atomic { BARS(SECOND) && DEAD(SECOND) && FENCED -> q = SECOND; byte_lock[q] = i + 1; after = FOR_QUEUE; goto reap }
#endif
    :: MAY_DIE
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; OUT(i); before[i] = 0; goto leave }
#endif
#if STAYS > 0
    :: atomic { NEVER -> goto end_gone }
#endif
#if PARKING
    :: atomic { MAY_SLEEP ->
        parked[i] = 1 + LATEST;
        goto asleep }
#endif
    fi;
#if PARKING
asleep:
    if
    :: atomic { parked[i] == 0 -> goto wait }
#if FENCED_MODE && !defined(MUTANT_NoNap)
    :: atomic { !MAY_SLEEP -> parked[i] = 0; goto wait }        /* the nap is over */
#endif
#if STAYS > 0
    :: atomic { NEVER -> goto end_gone }                        /* a holder stays inside */
#endif
#if DEATHS > 0
    :: atomic { deaths > 0 -> parked[i] = 0; goto wait }        /* every sleep has an end */
    :: MAY_DIE
#endif
    fi;
#endif

evict:  /* The place of q, or with EVICTIONS any claim. */
    STEP(t = doorway[q]; marked = MARKED(q));
#ifdef MUTANT_ModeBeforeBarrier
    STEP(c = memory[MODE(q)]);
#endif
#ifdef MUTANT_BelievesEviction
    if
    :: atomic { evicted[q] == t -> t = 0; goto look }
    :: atomic { evicted[q] != t }
    fi;
#endif
    STEP(FENCED;                                                /* fetch_max */
         if
         :: evicted[q] > t -> t = 0; q = 0; seen = 0; marked = 0; goto wait
         :: else -> evicted[q] = t; t = 0
         fi);
#ifdef MUTANT_SleepsBeforeBarrier
    if
    :: atomic { marked && memory[HELD(q)] != 0 -> parked[i] = 1 + q; q = 0; seen = 0; marked = 0; goto asleep }
    :: atomic { !marked || memory[HELD(q)] == 0 -> skip }
    fi;
#endif
    EVICT_BARRIER;
    STEP(t = 0; have_told = have_told | BIT(q);
         if :: marked && evicted[q] == doorway[q] -> told[q] = told[q] | BIT(i) :: else fi);
look:   /* Is it inside, or on the way in? */
#ifdef MUTANT_EvictsHolder
    STEP(t = 0;
#else
    STEP(t = memory[HELD(q)];
#endif
#ifdef MUTANT_ClearsNumberReadLate
         seen = memory[NUMBER(q)];
#endif
         if
         :: t == 0 -> goto clear
         :: t != 0 && (t == TRYING || mine >= X || RELATION != READER_WRITER || !MARKED(q)) -> t = 0; c = 0; q = 0; seen = 0; marked = 0; goto wait
         :: else -> t = 0
         fi);
#ifndef MUTANT_ModeBeforeBarrier
    STEP(c = memory[MODE(q)]);
#endif
    STEP(
#ifdef MUTANT_PassesOverWriter
         if :: passed = passed | BIT(q); before[i] = before[i] & ~BIT(q)
#else
#ifdef MUTANT_NeverPassesReader
         c = 0;
#endif
         if :: c == PLACE_S -> passed = passed | BIT(q); before[i] = before[i] & ~BIT(q)
#endif
         :: else
         fi;
         c = 0; q = 0; seen = 0; marked = 0; goto wait);
clear:  /* It is outside, and cannot come in by that doorway. */
#ifdef MUTANT_ClearsAfterWithdrawal
    if
    :: atomic { withdrawals < 1 -> withdrawals++ }; STEP(store(NUMBER(i), 0); number = 0; OUT(i); before[i] = 0); STEP(FENCED);
       STEP(if :: memory[NUMBER(q)] == seen -> memory[NUMBER(q)] = IDLE :: else fi; q = 0; seen = 0; marked = 0; c = 0; t = 0; mine = 0; passed = 0; have_told = 0);
       goto take
    :: skip
    fi;
#endif
#ifdef MUTANT_ClearsByStore
    STEP(if :: marked -> store(NUMBER(q), IDLE) :: else fi; c = 0; q = 0; seen = 0; marked = 0; goto wait);
#else
    STEP(FENCED;
         passed = passed | BIT(q); before[i] = before[i] & ~BIT(q);
         if :: marked && memory[NUMBER(q)] == seen -> memory[NUMBER(q)] = IDLE :: else fi;      /* compare-exchange */
         c = 0; q = 0; seen = 0; marked = 0; goto wait);
#endif

won:
    STEP(store(HELD(i), TRYING));
    BARRIER;
    STEP(if :: evicted[i] == doorway[i] -> goto requeue :: else fi);
#if RELATION == READER_WRITER
    if
    :: atomic { mine == S -> skip };
       STEP(load(BIAS, t); if :: t >= UPGRADING_BY(0) -> t = 0 :: else -> t = 0; goto settle fi);
       STEP(if :: THERE_IS_ROOM -> goto settle :: else fi);
       STEP(store(HELD(i), 0));
       WAKE(i);
       goto wait
    :: atomic { mine == X && !cleared -> skip };
       STEP(load(BIAS, t); if :: t != NOBODY -> t = 0; goto revoke :: else fi)
    :: atomic { mine == U || cleared -> skip }
    fi;
#endif

settle:
    STEP(ENTER; cleared = 0; passed = (mine == U -> passed : 0); have_told = (mine == U -> have_told : 0));
#if RELATION == READER_WRITER
    if
    :: atomic { mine == X -> skip };
       STEP(load(BIAS, t); if :: t != NOBODY -> store(BIAS, NOBODY) :: else fi; t = 0)
    :: atomic { mine != X -> skip }
    fi;
#endif
token:
#if RELATION == READER_WRITER
    if
    :: atomic { mine == X -> skip };
       STEP(load(TOKEN, my_token); my_token++;
            assert(my_token > last_token);    /* TOKEN */
            last_token = my_token; store(TOKEN, my_token))
    :: atomic { mine != X -> skip };
       STEP(load(TOKEN, my_token); assert(my_token == last_token))    /* TOKEN */
    fi;
#else
    STEP(FENCED; memory[TOKEN]++; my_token = memory[TOKEN]);
#endif
    STEP(store(HELD(i), my_token + 1));
#ifdef MUTANT_ModeAfterHeld
    if
    :: atomic { by_place -> skip };
       STEP(load(MODE(i), t); if :: t == PLACE + mine -> skip :: else -> store(MODE(i), PLACE + mine) fi; t = 0)
    :: atomic { !by_place -> skip }
    fi;
#endif
#if RELATION == SEMAPHORE
    WAKE(i);                                                    /* there may be room for the next one too */
#endif
#if BIASES
    if
#ifdef MUTANT_BiasBesidePlace
    :: atomic { mine == S -> skip };
#else
    :: atomic { mine == S && !by_place -> skip };
#endif
       STEP(FENCED; if :: memory[BIAS] == NOBODY -> memory[BIAS] = READERS :: else fi)
    :: skip
    fi;
#endif

section:
    atomic { my_token = 0 };
#if DEATHS > 0
#if RELATION == READER_WRITER
    STEP(load(STATE, t);
         assert(t != CONSISTENT || !torn);    /* NOTICE */
         assert(t != INCONSISTENT || notice_due);    /* NOTICE */
         assert(t == CONSISTENT || !by_place);    /* NOTICE: one that comes in by its place does not look. */
         if :: mine == X -> working = working | BIT(i) :: else fi);
    if
    :: atomic { mine == X && t == INCONSISTENT -> skip };
       STEP(t = 0; store(STATE, CONSISTENT); torn = 0; notice_due = 0)
    :: atomic { mine != X || t == CONSISTENT -> t = 0 }
    fi;
#else
    STEP(load(STATE, t); assert(t == CONSISTENT); t = 0);    /* NOTICE */
#endif
#endif
    if
#if RELATION == READER_WRITER
    :: atomic { mine == U -> goto upgrade }
#if DOWNGRADES > 0
    :: atomic { mine == X && downgrades < DOWNGRADES -> downgrades++; goto downgrade }
#endif
#elif DOWNGRADES > 0
    :: atomic { mine == 2 && downgrades < DOWNGRADES -> downgrades++; goto downgrade }
#endif
    :: skip
    fi;

#if STAYS > 0
    if
    :: atomic { stays < STAYS -> stays++; goto end_gone }
    :: skip
    fi;
#endif

exit:
    if
#ifdef MUTANT_RetainsAfterUpgrade
    :: atomic { RELATION == READER_WRITER && mine == X && (RETAINERS & BIT(i)) -> goto retain }
#else
    :: atomic { RELATION == READER_WRITER && mine == X && !changed && (RETAINERS & BIT(i)) -> goto retain }
#endif
#ifdef MUTANT_RetainsAfterDowngrade
    :: atomic { RELATION == READER_WRITER && (changed || by_place) && mine == S -> goto retain }
#else
    :: atomic { RELATION == READER_WRITER && by_place && mine == S -> goto retain }
#endif
    :: atomic { RELATION == SEMAPHORE && (RETAINERS & BIT(i)) -> goto retain }
    :: skip
    fi;
    if
    :: atomic { by_upgrade -> by_upgrade = 0 };
       STEP(OUTSIDE; store(HELD(i), TRYING));
       STEP(store(BIAS, NOBODY))
    :: atomic { !by_upgrade -> skip }
    fi;
    STEP(OUTSIDE; store(HELD(i), 0));
leave:
    STEP(if :: number != 0 -> store(NUMBER(i), 0) :: else fi;
         retained = retained & ~BIT(i); number = 0; mine = 0; place = 0; cleared = 0; passed = 0; have_told = 0; changed = 0; by_place = 0);
#ifdef MUTANT_NoUnparkWhenEvicted
    STEP(if :: evicted[i] == doorway[i] -> goto take :: else fi);
#endif
    WAKE(i);
    goto take;

retain: /* The number stays. The mark comes before `held` = 0, and that before the look whether the place is evicted. */
#ifdef MUTANT_MarkAfterUnpark
    STEP(OUTSIDE; store(HELD(i), 0));
    WAKE(i);
#endif
#if RELATION == READER_WRITER
    STEP(if :: !by_place -> store(MODE(i), PLACE_X) :: else fi);
#ifdef MUTANT_RetainsAfterUpgrade
    if
    :: atomic { by_upgrade -> by_upgrade = 0 };
       STEP(OUTSIDE; store(HELD(i), TRYING));
       STEP(store(BIAS, NOBODY))
    :: atomic { !by_upgrade -> skip }
    fi;
#endif
#else
#ifdef MUTANT_RaisesWeight
    STEP(if :: changed -> mine = 2 :: else fi);
#endif
    STEP(if :: !by_place -> store(MODE(i), PLACE + mine) :: else fi; place = mine);
#endif
#ifdef MUTANT_LeaveCheckBeforeHeld
    STEP(if :: evicted[i] == doorway[i] -> t = 1 :: else fi);
#endif
    STEP(OUTSIDE; retained = retained | BIT(i); store(HELD(i), 0));
#ifdef MUTANT_LeaveCheckBeforeHeld
    STEP(if :: t -> t = 0; goto leave :: else fi);
#else
    STEP(if :: evicted[i] == doorway[i] -> goto leave :: else fi);
#endif
    atomic { mine = 0; cleared = 0; passed = 0; have_told = 0; changed = 0 };
#ifndef MUTANT_MarkAfterUnpark
    if
    :: atomic { by_place -> skip }
    :: atomic { !by_place -> skip };
       WAKE(i)                                                  /* a sleeper behind it has seen no mark */
    fi;
#endif
    atomic { by_place = 0 };
    goto take;

requeue: /* A waiter behind us passed over us: to the end of the queue. */
    STEP(store(HELD(i), 0));
    STEP(store(NUMBER(i), 0); number = 0; before[i] = 0; OUT(i));
    WAKE(i);
    goto choose;

#if RELATION == READER_WRITER
revoke:
    STEP(store(BIAS, REVOKED));
    STEP(store(HELD(i), 0));
    WAKE(i);
    MEMBARRIER;
    STEP(revoking = revoking | BIT(i); t = 0; j = FIRST);
revoke_wait:
    do
    :: atomic { j < N && memory[HELD(j)] == 0 -> NEXT(j) }
    :: atomic { j >= N -> j = 0; break }
#if STAYS > 0
    :: atomic { timeout && j < N && memory[HELD(j)] != 0 -> goto end_gone }
#endif
#if DEATHS > 0
    :: atomic { j < N && memory[HELD(j)] != 0 && byte_lock[j] == 0 && FENCED -> q = j; j = FIRST; byte_lock[q] = i + 1; after = FOR_REVOKE; goto reap }
    :: MAY_DIE
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; j = 0; goto cancel }
#endif
    od;
    atomic { cleared = 1; goto won };

#if WITHDRAWALS > 0
cancel: /* By an entry step, unless it lost its place. */
    STEP(store(HELD(i), TRYING));
    BARRIER;
    STEP(OUT(i); before[i] = 0; if :: evicted[i] != doorway[i] -> store(BIAS, READERS) :: else fi);
    STEP(store(HELD(i), 0));
    goto leave;
#endif

upgrade:
    STEP(store(MODE(i), UPGRADING); mine = UPGRADING);
    STEP(store(BIAS, UPGRADING_BY(i)); j = FIRST);
    MEMBARRIER;
    STEP(revoking = revoking | BIT(i); t = 0);
upgrade_drain:
    do
    :: atomic { j < N && !HINDERS(j) -> NEXT(j) }
    :: atomic { j >= N -> j = 0; break }
#if STAYS > 0
    :: atomic { timeout && j < N && HINDERS(j) -> goto end_gone }
#endif
#if DEATHS > 0
    :: atomic { j < N && HINDERS(j) && byte_lock[j] == 0 && FENCED -> q = j; j = FIRST; byte_lock[q] = i + 1; after = FOR_UPGRADE; goto reap }
    :: MAY_DIE
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; j = 0; goto stay_upgradable }
#endif
    od;
    STEP(assert(NEITHER(IS_INSIDE));    /* EXCLUSION */
         rights[i] = X; OUT(i); by_upgrade = 1; changed = 1);
    STEP(load(TOKEN, my_token); my_token++;
         assert(my_token > last_token);    /* TOKEN */
         last_token = my_token; store(TOKEN, my_token));
    STEP(store(HELD(i), my_token + 1); my_token = 0);
    STEP(store(MODE(i), X); mine = X);
    goto section;
#if WITHDRAWALS > 0
stay_upgradable:
    STEP(store(MODE(i), U); mine = U; OUT(i));
    STEP(store(BIAS, READERS));
    goto exit;
#endif
#endif

#if DOWNGRADES > 0
downgrade:
#if RELATION == SEMAPHORE
    STEP(store(MODE(i), 1); mine = 1; rights[i] = 1; changed = 1);
    STEP(retained = retained & ~BIT(i); by_place = 0);
    WAKE(i);
    goto exit;
#else
    if
    :: atomic { t = U }
    :: atomic { t = S }
    fi;
    STEP(rights[i] = t;
#if DEATHS > 0
         working = working & ~BIT(i);
#endif
         if :: by_upgrade -> store(BIAS, NOBODY); by_upgrade = 0 :: else fi);
    STEP(store(MODE(i), t); mine = t; t = 0; changed = 1; by_place = 0; retained = retained & ~BIT(i));
    WAKE(i);
    if
    :: atomic { mine == U -> goto upgrade }
    :: goto exit
    fi;
#endif
#endif

#if DEATHS > 0
    /* ---- liveness::clear for q, with q's byte lock in hand. ---- */
reap:
    if
    :: atomic { DIED_AS_WRITER(q) -> skip }; STEP(store(STATE, INCONSISTENT))
    :: atomic { !DIED_AS_WRITER(q) -> skip }
    fi;
    STEP(store(HELD(q), 0));
    STEP(store(NUMBER(q), 0));
    WAKE(q);
    if
    :: atomic { after == FOR_ATTACH -> q = 0; after = 0; goto take }
    :: atomic { after != FOR_ATTACH -> skip }
    fi;
    STEP(FENCED; byte_lock[q] = (byte_lock[q] == i + 1 -> 0 : byte_lock[q]); q = 0);
    if
    :: atomic { after == FOR_QUEUE -> goto wait }
#if RELATION == READER_WRITER
    :: atomic { after == FOR_REVOKE -> after = 0; goto revoke_wait }
    :: atomic { after == FOR_UPGRADE -> after = 0; goto upgrade_drain }
#endif
    fi;

dead:   /* kill -9: what was stored reaches memory, then the kernel drops the byte locks. */
    atomic { FENCED ->
        if :: RELATION == READER_WRITER && rights[i] == X && memory[HELD(i)] != 0 && memory[HELD(i)] != TRYING -> notice_due = 1 :: else fi;
        if :: working & BIT(i) -> torn = 1 :: else fi;
        working = working & ~BIT(i);
        rights[i] = 0; before[i] = 0; late[i] = 0; told[i] = 0; retained = retained & ~BIT(i); OUT(i);
        byte_lock[0] = (byte_lock[0] == i + 1 -> 0 : byte_lock[0]);
        byte_lock[1] = (byte_lock[1] == i + 1 -> 0 : byte_lock[1]);
        byte_lock[N - 1] = (byte_lock[N - 1] == i + 1 -> 0 : byte_lock[N - 1]);
#if PARKING
        parked[i] = 0;
#endif
        j = 0; t = 0; c = 0; q = 0; mine = 0; number = 0; place = 0; rounds = 0; after = 0; passed = 0; have_told = 0; seen = 0; my_token = 0;
        by_upgrade = 0; cleared = 0; by_place = 0; changed = 0; marked = 0;
#if NEWCOMERS
        if :: goto claim :: goto gone fi
#else
        goto gone
#endif
    };
#endif
end_gone:
    atomic { rounds == 99 -> skip };
gone:
    skip
}

#if TSO
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
#endif

init {
    atomic {
        byte p = 0;
        do :: p < N -> byte_lock[p] = p + 1; run Participant(p); p++ :: else -> break od;
#if TSO
        run Memory()
#endif
    }
}
