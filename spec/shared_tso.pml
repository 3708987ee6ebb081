/* The shared bias of a reader/writer lock, on x86 (total store order): readers enter and leave without a fence and without a number,
 * a writer at the head of the queue revokes the bias, and a holder of U upgrades in place.
 *
 * MODELLED: one lock of one file, and N slots. Each of ROUNDS times a participant wants S, U or X. A reader first tries by the
 * bias: `held` = TRYING, then a look at the bias word. If that is not READERS, it goes through the queue, and when it is inside it may
 * have the lock biased to readers again. X at the head revokes: bias word, membarrier (all participants are of
 * one process), and then it waits until each other's `held` is 0. A holder of U upgrades: mode and bias word UPGRADING, membarrier, and
 * the same wait. An X that waits may suspend the bias, wherever it stands, and a reader inside by the queue ends that. Store buffers, membarrier, deaths at every step (DEATHS), reaping and newcomers are as in biased_tso.pml. X and U may
 * give up while they wait (WITHDRAWALS). A reader may stay inside for ever (STAYS): then a waiter that has room beside it comes in all the
 * same.
 *
 * LEFT OUT: the doorway and the scan, which bakery_tso.pml and claims_sc.pml have: a number is drawn in one step that is a full fence, as
 * fences A and B make it, and the earlier claims are looked at in one step; fencing tokens, the owner-dead notice and its state,
 * downgrades (claims_sc.pml); evictions and stops on the way (biased_tso.pml); files of several processes, and how a file
 * becomes one (fences_tso.pml); when a bias pays.
 *
 * THE LABELS are the code's steps (core/src/acquire/readers.rs, core/src/acquire/change.rs, core/src/algorithm/shared_bias.rs):
 *   try, let_go                 a biased reader: `held` = TRYING, the look at the bias word; `held` = 0 again
 *   doorway, wait, won          the queue, and the entry step
 *   revoke, revoke_wait, settle       X at the head: bias word and `held` = 0, membarrier, the wait, the entry step again
 *   suspend                     X waits: compare-exchange of the bias word, READERS to SUSPENDED
 *   rebias                      a reader inside by the queue: compare-exchange of the bias word, NOBODY or SUSPENDED to READERS
 *   upgrade, upgrade_drain      U in place; stay_upgradable where it gives up
 *   cancel                      X gives up: bias word = READERS or SUSPENDED, in an entry step
 *   exit, leave                 `held` = 0, then the number
 *   reap                        liveness::clear
 *
 * ASSERTED: EXCLUSION, no two conflicting claims inside; ORDER, a biased reader that begins to try after the membarrier of one that
 * revokes or upgrades does not enter before that; LENGTH, a buffer is long enough; and by Spin itself NO DEADLOCK.
 *
 * MUTANTS: -DMUTANT_name, as README.md says.
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
#ifndef STAYS
#define STAYS 0
#endif
#ifndef CLAIMS              /* the claims that a participant chooses from, a bit each: S = 1, U = 2, X = 4 */
#define CLAIMS 7
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
#ifndef LENGTH              /* two biased entries and what comes before the next fence */
#define LENGTH (4 * (ROUNDS + AGAIN) + 6)
#endif

/* ---- The file, as memory has it -------------------------------------------------------------------------------------- */
#define S 1                 /* modes: two are compatible if they add up to at most 3 */
#define U 2
#define X 3
#define UPGRADING 4
#define TOKEN 1             /* in `held`: inside; the models of the queue have the numbers */
#define TRYING 15
#define NOBODY 0            /* the bias word */
#define READERS 1
#define SUSPENDED 2         /* READERS, of which none enters by it: a writer is queued for good */
#define REVOKED 3           /* READERS, and being revoked */
#define UPGRADING_BY(p) (8 + (p))
#define NUMBER(p) (p)
#define HELD(p) (N + (p))
#define MODE(p) (2 * N + (p))
#define BIAS (3 * N)
byte memory[3 * N + 1];

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
byte rights[N];             /* the mode that one has inside; 0: it is not inside */
byte revoking;              /* those that revoke or upgrade, after their membarrier */
byte before[N];             /* of those, the ones that this one's biased entry must not overtake */
byte deaths, withdrawals, stays;

#define MAY_DIE atomic { deaths < DEATHS -> deaths++; goto dead }
#if DEATHS > 0
#define STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_DIE fi
#else
#define STEP(...) atomic { __VA_ARGS__ }
#endif
#define FIRST (i == 0 -> 1 : 0)
#define SECOND (3 - i - FIRST)
#define NEXT(j) j = (j + 1 == i -> j + 2 : j + 1)
#if N == 2
#define NEITHER(condition) (!condition(FIRST))
#define HIGHEST memory[NUMBER(FIRST)]
#else
#define NEITHER(condition) (!condition(FIRST) && !condition(SECOND))
#define HIGHEST (memory[NUMBER(FIRST)] > memory[NUMBER(SECOND)] -> memory[NUMBER(FIRST)] : memory[NUMBER(SECOND)])
#endif
#define BARS(p) (memory[NUMBER(p)] != 0 && memory[NUMBER(p)] < number && mine + memory[MODE(p)] > 3)
#define BESIDE(p) (rights[p] != 0 && mine + rights[p] > 3)
#define IS_INSIDE(p) (rights[p] != 0)
#define OUT(p) revoking = revoking & ~BIT(p); \
    before[0] = before[0] & ~BIT(p); before[1] = before[1] & ~BIT(p); before[N - 1] = before[N - 1] & ~BIT(p)
#define DRAINED(p) atomic { t & BIT(p) && buffered[p] == 0 -> t = t & ~BIT(p) }
#define EVERYBODY ((1 << N) - 1 - BIT(i))
#if N == 2
#define PASS_BARRIER do :: DRAINED(0) :: DRAINED(1) :: atomic { t == 0 -> break } od
#else
#define PASS_BARRIER do :: DRAINED(0) :: DRAINED(1) :: DRAINED(2) :: atomic { t == 0 -> break } od
#endif
#ifdef MUTANT_NoMembarrier
#define MEMBARRIER STEP(FENCED)
#else
#define MEMBARRIER STEP(FENCED; t = EVERYBODY); PASS_BARRIER
#endif

#ifdef MUTANT_UpgraderIgnoresLaterReaders
#define HINDERS(p) BARS(p)
#else
#define HINDERS(p) (BARS(p) || memory[HELD(p)] != 0)
#endif

#define FOR_QUEUE 0
#define FOR_REVOKE 1
#define FOR_UPGRADE 2
#define FOR_ATTACH 3

proctype Participant(byte i) {
    byte j, k, t, q, mine, number, old, rounds, after;
    bit by_upgrade, cleared;

    atomic { rounds = (i == 0 -> ROUNDS + AGAIN : ROUNDS); goto take };
#if DEATHS > 0
claim:
    atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; rounds = (i == 0 -> ROUNDS + AGAIN : ROUNDS); q = i; after = FOR_ATTACH; goto reap };
#endif

take:
    if
    :: atomic { rounds == 0 -> goto gone }
    :: atomic { rounds > 0 && MAY_CLAIM(S) -> rounds--; mine = S }
    :: atomic { rounds > 0 && MAY_CLAIM(U) -> rounds--; mine = U }
    :: atomic { rounds > 0 && MAY_CLAIM(X) -> rounds--; mine = X }
    fi;
    STEP(load(MODE(i), t); if :: t == mine -> skip :: else -> store(MODE(i), mine) fi; t = 0);
    if
    :: atomic { mine != S -> goto doorway }
    :: atomic { mine == S -> skip }
    fi;

#ifdef MUTANT_ReaderFlagAfterLook
    STEP(load(BIAS, t); before[i] = revoking);
    STEP(store(HELD(i), TRYING));
    if :: atomic { t == READERS -> t = 0 } :: atomic { t != READERS -> t = 0; goto let_go } fi;
    STEP(assert(NEITHER(BESIDE)); assert(before[i] == 0); rights[i] = S);
#else
    STEP(store(HELD(i), TRYING); before[i] = revoking);
try:
    STEP(load(BIAS, t);
#ifdef MUTANT_IgnoresRevocation
         t = (t == REVOKED -> READERS : t);
#endif
         if :: t != READERS -> t = 0; before[i] = 0; goto let_go :: else -> t = 0 fi;
         assert(NEITHER(BESIDE));    /* EXCLUSION */
         assert(before[i] == 0);    /* ORDER */
         rights[i] = S);
#endif
    STEP(store(HELD(i), TOKEN));
    goto section;
let_go:
    STEP(store(HELD(i), 0); before[i] = 0);

doorway:
    STEP(FENCED; number = 1 + HIGHEST; memory[NUMBER(i)] = number);
wait:
    if
    :: atomic { NEITHER(BARS) -> skip }
#ifdef MUTANT_SuspendsByStore
    :: atomic { mine == X && !NEITHER(BARS) && memory[BIAS] == READERS && old == 0 -> old = 1; goto suspend }
#else
    :: atomic { mine == X && !NEITHER(BARS) && memory[BIAS] == READERS && FENCED -> memory[BIAS] = SUSPENDED; goto wait }
#endif
#if DEATHS > 0
    :: atomic { BARS(FIRST) && byte_lock[FIRST] == 0 && FENCED -> q = FIRST; byte_lock[q] = i + 1; after = FOR_QUEUE; goto reap }
#if N > 2
    :: atomic { BARS(SECOND) && byte_lock[SECOND] == 0 && FENCED -> q = SECOND; byte_lock[q] = i + 1; after = FOR_QUEUE; goto reap }
#endif
    :: MAY_DIE
#endif
#if STAYS > 0
    :: atomic { timeout && !NEITHER(BARS) -> goto end_gone }
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; goto leave }
#endif
    fi;
won:
#ifdef MUTANT_SuspendsByStore
    goto won_for_sure;
suspend:
    STEP(store(BIAS, SUSPENDED));
    goto wait;
won_for_sure:
#endif
    STEP(store(HELD(i), TRYING));
    if
    :: atomic { mine == S -> skip };
       STEP(load(BIAS, t); if :: t >= UPGRADING_BY(0) -> t = 0 :: else -> t = 0; goto settle fi);
#ifndef MUTANT_UpgradeWithoutLook
       STEP(if :: NEITHER(BARS) -> goto settle :: else fi);
       STEP(store(HELD(i), 0));
       goto wait
#else
       goto settle
#endif
    :: atomic { mine == X && !cleared -> skip };
       STEP(load(BIAS, t);
#ifdef MUTANT_XIgnoresDeadUpgrader
            t = (t >= UPGRADING_BY(0) -> NOBODY : t);
#endif
            if :: t != NOBODY -> t = 0; goto revoke :: else fi)
    :: atomic { mine == U || cleared -> skip }
    fi;

settle:
    STEP(assert(NEITHER(BESIDE));    /* EXCLUSION */
         rights[i] = mine; cleared = 0; OUT(i);
         if :: mine == X -> load(BIAS, t); if :: t != NOBODY -> store(BIAS, NOBODY) :: else fi :: else fi; t = 0);
    STEP(store(HELD(i), TOKEN));
rebias:
    if
    :: atomic { mine == S -> skip };
#ifdef MUTANT_RebiasByStore
       STEP(load(BIAS, t));
       STEP(if :: t == NOBODY -> store(BIAS, READERS) :: else fi; t = 0)
#else
       STEP(FENCED; if :: memory[BIAS] == NOBODY || memory[BIAS] == SUSPENDED -> memory[BIAS] = READERS :: else fi)
#endif
    :: skip
    fi;

section:
    if
    :: atomic { mine == U -> goto upgrade }
    :: skip
    fi;
#if STAYS > 0
    if
    :: atomic { mine == S && stays < STAYS -> stays++; goto end_gone }
    :: skip
    fi;
#endif
exit:
    STEP(rights[i] = 0; if :: by_upgrade -> store(BIAS, NOBODY); by_upgrade = 0 :: else fi);
    STEP(store(HELD(i), 0));
leave:
    STEP(if :: number != 0 -> store(NUMBER(i), 0) :: else fi; number = 0; mine = 0; cleared = 0);
    goto take;

revoke:
    STEP(store(BIAS, REVOKED));
    STEP(store(HELD(i), 0));
#ifdef MUTANT_LooksBeforeBarrier
    goto revoke_wait;
barrier:
    MEMBARRIER;
    goto drained;
#else
    MEMBARRIER;
    STEP(revoking = revoking | BIT(i));
#endif
revoke_wait:
    j = FIRST;
    do
    :: atomic { j < N && memory[HELD(j)] == 0 -> NEXT(j) }
    :: atomic { j >= N -> j = 0; break }
#if DEATHS > 0
    :: atomic { j < N && memory[HELD(j)] != 0 && byte_lock[j] == 0 && FENCED -> q = j; j = 0; byte_lock[q] = i + 1; after = FOR_REVOKE; goto reap }
    :: MAY_DIE
#endif
#if STAYS > 0
    :: atomic { timeout && j < N && memory[HELD(j)] != 0 -> goto end_gone }
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; j = 0; goto cancel }
#endif
    od;
#ifdef MUTANT_LooksBeforeBarrier
    goto barrier;
drained:
#endif
    atomic { cleared = 1; goto won };

#if WITHDRAWALS > 0
cancel:
    STEP(store(HELD(i), TRYING));
#ifdef MUTANT_CancelToNobody
    STEP(store(BIAS, NOBODY); OUT(i));
#else
    if
    :: STEP(store(BIAS, READERS); OUT(i))
    :: STEP(store(BIAS, SUSPENDED); OUT(i))
    fi;
#endif
    STEP(store(HELD(i), 0));
    goto leave;
#endif

upgrade:
    STEP(store(MODE(i), UPGRADING); mine = UPGRADING);
#ifdef MUTANT_UpgradeByStore
    STEP(load(BIAS, old));
    STEP(store(BIAS, UPGRADING_BY(i)));
#else
    STEP(FENCED; old = memory[BIAS]; memory[BIAS] = UPGRADING_BY(i));     /* swap */
#endif
    MEMBARRIER;
    STEP(revoking = revoking | BIT(i));
upgrade_drain:
    j = FIRST;
    do
    :: atomic { j < N && !HINDERS(j) -> NEXT(j) }
    :: atomic { j >= N -> j = 0; break }
#if DEATHS > 0
    :: atomic { j < N && HINDERS(j) && byte_lock[j] == 0 && FENCED -> q = j; j = 0; byte_lock[q] = i + 1; after = FOR_UPGRADE; goto reap }
    :: MAY_DIE
#endif
#if STAYS > 0
    :: atomic { timeout && j < N && HINDERS(j) -> goto end_gone }
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; j = 0; goto stay_upgradable }
#endif
    od;
    STEP(assert(NEITHER(IS_INSIDE));    /* EXCLUSION */
         rights[i] = X; OUT(i); by_upgrade = 1; old = 0);
    STEP(store(MODE(i), X); mine = X);
#ifdef MUTANT_UpgradingOnlyUntilX
    STEP(store(BIAS, NOBODY); by_upgrade = 0);
#endif
    goto exit;
#if WITHDRAWALS > 0
stay_upgradable:
    STEP(store(MODE(i), U); mine = U; OUT(i));
#ifdef MUTANT_GivesUpToNobody
    STEP(store(BIAS, (old == READERS -> READERS : NOBODY)); old = 0);
#else
    if
    :: STEP(store(BIAS, (old == NOBODY -> NOBODY : READERS)); old = 0)
    :: STEP(store(BIAS, (old == NOBODY -> NOBODY : SUSPENDED)); old = 0)
    fi;
#endif
    goto exit;
#endif

#if DEATHS > 0
reap:
    STEP(store(HELD(q), 0));
    STEP(store(NUMBER(q), 0));
    if
    :: atomic { after == FOR_ATTACH -> q = 0; after = 0; goto take }
    :: atomic { after != FOR_ATTACH -> skip }
    fi;
    STEP(FENCED; byte_lock[q] = (byte_lock[q] == i + 1 -> 0 : byte_lock[q]); q = 0);
    if
    :: atomic { after == FOR_QUEUE -> goto wait }
    :: atomic { after == FOR_REVOKE -> after = 0; goto revoke_wait }
    :: atomic { after == FOR_UPGRADE -> after = 0; goto upgrade_drain }
    fi;

dead:   /* kill -9: what was stored reaches memory, then the kernel drops the byte locks. A newcomer comes, or none. */
    atomic { FENCED ->
        rights[i] = 0; before[i] = 0; OUT(i);
        byte_lock[0] = (byte_lock[0] == i + 1 -> 0 : byte_lock[0]);
        byte_lock[1] = (byte_lock[1] == i + 1 -> 0 : byte_lock[1]);
        byte_lock[N - 1] = (byte_lock[N - 1] == i + 1 -> 0 : byte_lock[N - 1]);
        j = 0; t = 0; q = 0; mine = 0; number = 0; old = 0; rounds = 0; after = 0; by_upgrade = 0; cleared = 0;
        if :: goto claim :: goto gone fi
    };
#endif
end_gone:
    atomic { rounds == 99 -> skip };
gone:
    skip
}

#define TAKE(x) atomic { buffered[x] > 0 -> drain(x, 0) }
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

init {
    atomic {
        byte p = 0;
        do :: p < N -> byte_lock[p] = p + 1; run Participant(p); p++ :: else -> break od;
        run Memory()
    }
}
