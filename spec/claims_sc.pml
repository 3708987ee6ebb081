/* The bakery's queue with claims, where every participant sees every access at once (sequential consistency): one model for
 * every kind of lock that is a queue. RELATION says which claims conflict: those of a reader/writer lock, of a semaphore, of
 * ranges.
 *
 * MODELLED: one lock of one file, and N slots. A participant writes its claim, draws a number, and waits until the earlier
 * claims leave it enough room; then it takes its entry step. ROUNDS acquisitions, each with any claim of the relation. It may be
 * killed before every step (DEATHS times in all); a waiter behind a dead one reaps it, and may be killed at that too; a newcomer
 * takes the slot, or none ever does. A waiter may give up (WITHDRAWALS), also one that upgrades. A waiter behind another
 * participant may pass over it, at any moment, until that has taken its entry step (EVICTIONS). A holder may stay inside for
 * ever (STAYS): then each waiter whose claim has room beside it must come in all the same.
 *   READER_WRITER  S, U and X; a holder of U may upgrade in place, one of X downgrades in place to U or S (DOWNGRADES). A holder
 *                  of X that is told of a death repairs the data or closes the lock; readers are told, and leave that as it is.
 *   SEMAPHORE      weights 1 and 2; a part may be given back; the permits are 2, and with RESIZES now and then 3. With PARKING
 *                  a waiter sleeps until it is woken as the code wakes it.
 *   RANGE          S or X over [0,0], [1,1] or [0,1]. A dead X leaves a dead claim in its cell, until a holder of X that covers
 *                  it has repaired the data. Keys are ranges that are equal or apart.
 *
 * LEFT OUT: what bakery_sc.pml leaves out, and its newcomers that attach without a death, tries, resets and panics; readers by
 * the shared bias, store buffers and revocation (shared_tso.pml): the bias word here is NOBODY or UPGRADING; participants that
 * take no step any more (STOPS of biased_tso.pml); U and X as in the table, and no other modes.
 *
 * A scan that finds its way barred has changed nothing, so that a waiter may as well begin its next scan when there is room:
 * every scan that lets a waiter in is here the first one of a slower waiter. A wait is a guard for that reason, but with PARKING.
 *
 * THE LABELS are the code's steps, as in bakery_sc.pml, and
 *   want                        the claim's words (core/src/algorithm/claim.rs)
 *   wait, look, look_at_claim   QueueWait::reach_the_head (core/src/acquire/queue.rs): the numbers, and the claims of the earlier ones
 *   won, evicted                the entry step (Eviction::enter): `held` = TRYING, then the look whether the place is lost
 *   again                       a reader that finds the bias word UPGRADING looks again (core/src/acquire/readers.rs)
 *   upgrade, drain, upgraded, stay_upgradable     upgrade in place, and giving it up (core/src/acquire/change.rs)
 *   downgrade                   downgrade in place
 *   reap, reap_claim            liveness::clear; the dead claim is put down
 *   evict, passed_over          eviction::evict
 *
 * ASSERTED, each named where it stands:
 *   EXCLUSION  no two conflicting claims inside; the weights inside are at most the permits
 *   ORDER      no participant enters before a conflicting one that had finished its doorway before this one began its own (with a
 *              semaphore: unless there is room for both), unless that died, gave up or was passed over; a claim that
 *              upgrades counts as conflicting from its bias word on; none enters X between U and its X
 *   TOKEN      fencing tokens of writers and of permits strictly increase; a reader's is the last writer's
 *   NOTICE     a holder that is told nothing finds that no X died at work since the last repair; one that is told of a death is
 *              told of that of an X, and gets its token
 *   CLOSED     not recoverable is for ever
 * and by Spin itself NO DEADLOCK: no invalid end state, so no participant waits for ever (of permits: those of the dead come back).
 *
 * MUTANTS: -DMUTANT_name, each at the place where it leaves something out or does it wrongly. README.md says what they are.
 */
#define READER_WRITER 1
#define SEMAPHORE 2
#define RANGE 3
#ifndef RELATION
#define RELATION READER_WRITER
#endif
#ifndef N
#define N 3                 /* slots */
#endif
#ifndef ROUNDS
#define ROUNDS 1            /* how often a participant takes the lock */
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
#ifndef DOWNGRADES
#define DOWNGRADES 0
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
#ifndef CLAIMS              /* the claims that participants 0, 1 and 2 choose from, a bit each: S = 1, U = 2, X = 4, */
#define CLAIMS 7            /* or weight 1 = 1, weight 2 = 2 */
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

/* ---- The file ------------------------------------------------------------------------------------------------------ */
#define IDLE 0              /* the packed word: 0, 1 = choosing, n + 1 = number n */
#define CHOOSING 1
#define S 1                 /* modes: two are compatible if they add up to at most 3 */
#define U 2
#define X 3
#define UPGRADING 4
#define TRYING 255          /* in `held`: may be inside in a moment, or not */
#define CONSISTENT 0        /* Health */
#define INCONSISTENT 1
#define NOT_RECOVERABLE 2
#define NOBODY 0            /* the bias word: NOBODY, or j + 1 = UPGRADING(j) */
byte word[N];               /* LockView::numbers */
byte mode[N];               /* the claim's mode, or its weight */
#if RELATION == RANGE
byte first[N], last[N];     /* the claim's extent */
#define NONE 0              /* the flag of a dead claim: 4 * generation + NONE, WRITING or PRESENT */
#define WRITING 1
#define PRESENT 2
byte dead_flag[N], dead_first[N], dead_last[N];
#endif
byte cell_held[N];          /* Cell::held: 0, TRYING, or a fencing token */
#ifdef MUTANT_TokenFromZero
byte lock_token = 0;
#else
byte lock_token = 1;        /* LockWords::token: never 0, since a reader writes it into `held` before there was a writer */
#endif
byte lock_state;            /* LockWords::state */
byte previous_owner;        /* LockWords::previous_owner */
byte bias;                  /* LockWords::bias */
byte permits = 2;
#if EVICTIONS > 0
byte sequence[N];           /* Cell::doorway */
byte evicted_one[N];        /* Cell::evicted */
#endif

/* ---- The kernel ---------------------------------------------------------------------------------------------------- */
byte byte_lock[N];          /* 0 = free, p + 1 = participant p has it */
#if PARKING
byte parked[N];             /* p + 1: sleeps at slot p */
#endif

/* ---- What only the checker knows ------------------------------------------------------------------------------------ */
#define BIT(p) (1 << (p))
byte rights[N];             /* the mode or weight that one has inside; 0: it is not inside */
byte working;               /* of the holders of X: at work on the data */
byte queued;                /* doorway finished, or the upgrade announced; not yet in, withdrawn or dead */
byte before[N];             /* those of the queue that were there when this one began its doorway */
byte last_token;            /* the last one given to a writer, or with a permit or a range */
byte dead_token;            /* of the last X that died written down as such, since the last repair; else 0 */
bit torn;                   /* an X died at work since the last repair; of ranges: the points where one did */
#if RELATION == RANGE
byte torn_points;
#endif
bit closed;                 /* a holder of X ended without the repair it owed */
#if RELATION == SEMAPHORE
byte granted[N];            /* the permits there were when this one looked, which is inside */
#endif
byte deaths, withdrawals, downgrades, resizes, evictions, stays;

#define MAY_DIE atomic { deaths < DEATHS -> deaths++; goto dead }
#if DEATHS > 0
#define STEP(...) if :: atomic { __VA_ARGS__ } :: MAY_DIE fi
#else
#define STEP(...) atomic { __VA_ARGS__ }
#endif

#define NEXT(j) j = (j + 1 == i -> j + 2 : j + 1)      /* the next slot that is not our own */
#define FIRST (i == 0 -> 1 : 0)
#define SECOND (3 - i - FIRST)                         /* of three */
#define OUT_OF_QUEUE(p) queued = queued & ~BIT(p); \
    before[0] = before[0] & ~BIT(p); before[1] = before[1] & ~BIT(p); before[N - 1] = before[N - 1] & ~BIT(p)
#if N == 2
#define NEITHER(condition) (!condition(FIRST))
#define SUM(of) (of(FIRST))
#else
#define NEITHER(condition) (!condition(FIRST) && !condition(SECOND))
#define SUM(of) (of(FIRST) + of(SECOND))
#endif
#if EVICTIONS > 0
#define PASSED(p) (passed & BIT(p))
#define MAY_EVICT(p) (evictions < EVICTIONS && EARLIER(word[p], p) && !PASSED(p))
#else
#define PASSED(p) 0
#endif

/* What the earlier claims take, and how much may be taken. */
#define EARLIER(number, p) (number != IDLE && (number < word_of_mine || (number == word_of_mine && p < i)))
#define MUCH 9
#define COMPATIBLE(a, b) (a + b <= 3)
#if RELATION == SEMAPHORE
#define TAKES(p, claim) (claim)
#define ROOM (permits - mine)
#else
#define ROOM 0
#if RELATION == RANGE
#ifdef MUTANT_EndsMayTouch
#define OVERLAP(p) (first[p] < last[i] && first[i] < last[p])
#else
#define OVERLAP(p) (first[p] <= last[i] && first[i] <= last[p])
#endif
#define TRUE_OVERLAP(p) (first[p] <= last[i] && first[i] <= last[p])
#define TAKES(p, claim) (!COMPATIBLE(mine, claim) && OVERLAP(p))
#define POINTS(p) ((first[p] == 0 -> 1 : 0) + (last[p] == 1 -> 2 : 0))
#else
#define TAKES(p, claim) (!COMPATIBLE(mine, claim))
#endif
#endif
#define TAKES_NOW(p) (!EARLIER(word[p], p) || PASSED(p) -> 0 : (word[p] == CHOOSING -> MUCH : TAKES(p, mode[p])))
#ifdef MUTANT_SleepsBehindChooser
#define TAKES_ASLEEP(p) TAKES_NOW(p)
#else
#define TAKES_ASLEEP(p) (word[p] == CHOOSING -> 0 : TAKES_NOW(p))        /* no waiter is woken by the end of a doorway */
#endif
#define TAKES_ALIVE(p) (byte_lock[p] == 0 -> 0 : TAKES_NOW(p))
#define THERE_IS_ROOM (SUM(TAKES_NOW) <= ROOM)

/* The assertions at an entry with the claim `mine`. */
#if RELATION == SEMAPHORE
#define INSIDE_OR_BEFORE(p) (rights[p] != 0 -> rights[p] : (before[i] & BIT(p) -> mode[p] : 0))
#define GRANTED(p) (rights[p] != 0 -> granted[p] : 0)
#if N == 2
#define MOST_GRANTED (GRANTED(FIRST) > room + mine -> GRANTED(FIRST) : room + mine)
#else
#define MORE_OF(a, b) (a > b -> a : b)
#define MOST_GRANTED MORE_OF(GRANTED(FIRST), MORE_OF(GRANTED(SECOND), room + mine))
#endif
#define INSIDE(p) (rights[p])
#define EXCLUSION (SUM(INSIDE) + mine <= MOST_GRANTED)
#define ORDER (SUM(INSIDE_OR_BEFORE) + mine <= MOST_GRANTED)
#elif RELATION == RANGE
#define BESIDE(p) (rights[p] != 0 && !COMPATIBLE(mine, rights[p]) && TRUE_OVERLAP(p))
#define OVERTAKEN(p) (before[i] & BIT(p) && !COMPATIBLE(mine, mode[p]) && TRUE_OVERLAP(p))
#define EXCLUSION NEITHER(BESIDE)
#define ORDER NEITHER(OVERTAKEN)
#else
#define BESIDE(p) (rights[p] != 0 && !COMPATIBLE(mine, rights[p]))
#define OVERTAKEN(p) (before[i] & BIT(p) && !COMPATIBLE(mine, mode[p]))
#define EXCLUSION NEITHER(BESIDE)
#define ORDER NEITHER(OVERTAKEN)
#endif

#ifdef MUTANT_LooksAfterBlockerOnly
#define BLOCKER(p) (q == p)
#elif defined(MUTANT_PermitNeverReturned)
#define BLOCKER(p) (cell_held[p] == 0 || cell_held[p] == TRYING)
#else
#define BLOCKER(p) 1
#endif

#ifdef MUTANT_UpgradeWithoutLook
#define LOOKS_AGAIN 0
#else
#define LOOKS_AGAIN (mine == S && bias != NOBODY)
#endif

/* Where `reap` goes on when it is done. */
#define FOR_WAIT 0
#define FOR_ATTACH 1

/* The sleepers at slot p; of a semaphore, the first one as well that waits. In one step: the code's unpark leaves no waiter asleep
 * that looked before it. */
#if PARKING
#define IS_WAITING(p) (word[p] > CHOOSING && cell_held[p] == 0)
#define GOES_FIRST(p, r) (!IS_WAITING(r) || word[p] < word[r] || (word[p] == word[r] && p <= r))
#define UNPARK_IF(p, is) parked[p] = (is -> 0 : parked[p])
#define UNPARK_AT(p) UNPARK_IF(0, parked[0] == p + 1); UNPARK_IF(1, parked[1] == p + 1); UNPARK_IF(2, parked[2] == p + 1)
#define IS_FIRST(p) (IS_WAITING(p) && GOES_FIRST(p, 0) && GOES_FIRST(p, 1) && GOES_FIRST(p, 2))
#define UNPARK_FIRST if :: IS_FIRST(0) -> parked[0] = 0 :: else fi; if :: IS_FIRST(1) -> parked[1] = 0 :: else fi; \
    if :: IS_FIRST(2) -> parked[2] = 0 :: else fi
#ifdef MUTANT_WakesOnlyAtSlot
#define WAKE(p) STEP(UNPARK_AT(p))
#else
#define WAKE(p) STEP(UNPARK_AT(p); UNPARK_FIRST)
#endif
#else
#define WAKE(p) skip
#endif

#define IS_INSIDE(p) (rights[p] != 0)
#if RELATION == SEMAPHORE
#define NOTE_GRANTED granted[i] = room + mine
#else
#define NOTE_GRANTED skip
#endif
#define ENTER STEP(assert(EXCLUSION);    /* EXCLUSION */ \
                   assert(ORDER);    /* ORDER */ \
                   rights[i] = mine; OUT_OF_QUEUE(i); before[i] = 0; trying = 0; NOTE_GRANTED; room = 0)
#define CLOSE_IF_INCONSISTENT if :: lock_state == INCONSISTENT -> lock_state = NOT_RECOVERABLE; closed = 1 :: else fi
#define BIAS_WORD_BACK if :: atomic { by_upgrade -> by_upgrade = 0 }; STEP(bias = NOBODY) :: atomic { !by_upgrade -> skip } fi
#define CLOSED_IF_INCONSISTENT if :: lock_state == INCONSISTENT -> closed = 1 :: else fi

/* The one that died with a token as the holder of X. */
#if RELATION == SEMAPHORE
#define DIED_WRITING(p) 0
#else
#define DIED_WRITING(p) (cell_held[p] != 0 && cell_held[p] != TRYING && mode[p] == X)
#endif
#ifdef MUTANT_DeadReaderIsOwnerDead
#define DIED_AS_WRITER(p) (cell_held[p] != 0 && cell_held[p] != TRYING)
#elif defined(MUTANT_UpgradingIsOwnerDead)
#define DIED_AS_WRITER(p) (cell_held[p] != 0 && cell_held[p] != TRYING && (mode[p] == X || mode[p] == UPGRADING))
#elif defined(MUTANT_OwnerDeadByTrying)
#define DIED_AS_WRITER(p) (cell_held[p] != 0 && mode[p] == X)
#else
#define DIED_AS_WRITER(p) DIED_WRITING(p)
#endif

proctype Participant(byte i) {
    byte j, t, c, word_of_mine, mine, seen, q, sum, room, my_token, health, rounds, after;
#if RELATION == RANGE
    byte flag, flag_of;
#endif
    bit trying, by_upgrade;
#if EVICTIONS > 0
    byte passed;
#endif

    atomic { rounds = (i == 0 -> ROUNDS + AGAIN : ROUNDS); goto take };

#if DEATHS > 0
claim:  /* The slot is that of the holder of its byte lock. First it finishes what a dead one left. */
    atomic { byte_lock[i] == 0 -> byte_lock[i] = i + 1; rounds = ROUNDS; q = i; after = FOR_ATTACH; goto reap };
#endif

take:   /* One more acquisition, or the end. */
#if RESIZES > 0
    if
    :: atomic { resizes < RESIZES -> resizes++; permits = 5 - permits };
       WAKE(i)
    :: skip
    fi;
#endif
    if
    :: atomic { rounds == 0 -> goto gone }
    :: atomic { rounds > 0 -> rounds--; if :: lock_state == NOT_RECOVERABLE -> goto take :: else fi }
    fi;

want:
    if
    :: atomic { MAY_CLAIM(1) -> mine = 1 }
    :: atomic { RELATION != RANGE && MAY_CLAIM(2) -> mine = 2 }
    :: atomic { RELATION != SEMAPHORE && MAY_CLAIM(3) -> mine = 3 }
    fi;
#if RELATION == RANGE
    if
    :: STEP(first[i] = 0); if :: STEP(last[i] = 0) :: STEP(last[i] = 1) fi
    :: STEP(first[i] = 1); STEP(last[i] = 1)
    fi;
#endif
#ifndef MUTANT_ClaimAfterNumber
    STEP(mode[i] = mine);
#endif

choose:
#if EVICTIONS > 0
    STEP(sequence[i]++; passed = 0);
#endif
    STEP(before[i] = queued; word[i] = CHOOSING; word_of_mine = CHOOSING; j = FIRST);
doorway:
    do
    :: atomic { j < N -> word_of_mine = (word[j] > word_of_mine -> word[j] : word_of_mine); NEXT(j) }
    :: atomic { j >= N -> break }
#if DEATHS > 0
    :: MAY_DIE
#endif
    od;
    STEP(j = 0; word_of_mine++; word[i] = word_of_mine; queued = queued | BIT(i));
#ifdef MUTANT_ClaimAfterNumber
    STEP(mode[i] = mine);
#endif

wait:   /* How much the earlier ones take; of those the latest is the one to wait for. */
    atomic { j = FIRST; seen = 0; q = 0; sum = 0; room = ROOM };
    do
    :: atomic { j < N && t == 0 ->
look:   if
        :: EARLIER(word[j], j) && !PASSED(j) && word[j] == CHOOSING ->
            sum = MUCH; if :: seen == 0 -> seen = CHOOSING; q = j :: else fi; NEXT(j)
        :: EARLIER(word[j], j) && !PASSED(j) && word[j] != CHOOSING -> t = word[j]
        :: else -> NEXT(j)
        fi }
    :: atomic { t != 0 ->
look_at_claim:
        c = TAKES(j, mode[j]);
#ifdef MUTANT_HoldersOnly
        c = (cell_held[j] == 0 -> 0 : c);
#endif
        sum = (sum + c > MUCH -> MUCH : sum + c);
        if :: c != 0 && t >= seen -> seen = t; q = j :: else fi;
        t = 0; c = 0; NEXT(j) }
    :: atomic { j >= N && t == 0 -> j = 0; seen = 0; break }
#if DEATHS > 0
    :: MAY_DIE
#endif
    od;
    if
#if RELATION == READER_WRITER
    :: atomic { sum <= room && mine == UPGRADING -> sum = 0; q = 0; goto drain }
    :: atomic { sum <= room && trying -> sum = 0; q = 0; goto enter_now }
    :: atomic { sum > room && trying -> sum = 0; room = 0; goto step_back }
#endif
    :: atomic { sum <= room && mine != UPGRADING && !trying -> sum = 0; q = 0; goto won }
    :: atomic { sum > room && !trying -> sum = 0; room = 0;
#if PARKING
                if :: SUM(TAKES_ASLEEP) <= ROOM -> q = 0; goto wait :: else -> parked[i] = q + 1 fi
#endif
              }
    fi;
blocked:
    if
#if PARKING
    :: atomic { parked[i] == 0 -> q = 0; goto wait }
#else
    :: atomic { THERE_IS_ROOM -> q = 0; goto wait }
#endif
#if STAYS > 0
    :: atomic { timeout && SUM(TAKES_ALIVE) > ROOM -> goto end_gone }                     /* a holder stays inside */
#endif
#if DEATHS > 0
    :: atomic { TAKES_NOW(FIRST) != 0 && byte_lock[FIRST] == 0 && BLOCKER(FIRST) -> q = FIRST; byte_lock[q] = i + 1; goto reap }
#if N > 2
    :: atomic { TAKES_NOW(SECOND) != 0 && byte_lock[SECOND] == 0 && BLOCKER(SECOND) -> q = SECOND; byte_lock[q] = i + 1; goto reap }
#endif
    :: MAY_DIE
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; q = 0;
#if RELATION == READER_WRITER
                if :: mine == UPGRADING -> goto stay_upgradable :: else fi;
#endif
                goto withdraw }
#endif
#if EVICTIONS > 0
    :: atomic { MAY_EVICT(FIRST) -> evictions++; q = FIRST; goto evict }
#if N > 2
    :: atomic { MAY_EVICT(SECOND) -> evictions++; q = SECOND; goto evict }
#endif
#endif
    fi;

#if EVICTIONS > 0
evict:  /* Telling it that it lost its place. It may be inside, or on the way in: then it is waited for. */
    STEP(t = sequence[q]);
    STEP(evicted_one[q] = (evicted_one[q] > t -> evicted_one[q] : t); t = 0);    /* fetch_max */
passed_over:
    STEP(if
         :: cell_held[q] == 0 -> passed = passed | BIT(q); before[i] = before[i] & ~BIT(q)
         :: else
         fi;
         q = 0; goto wait);
#endif

won:    /* The entry step. From here until `held` is 0 again, no waiter passes over us. */
    STEP(cell_held[i] = TRYING; trying = 1);
#if EVICTIONS > 0
    STEP(if :: evicted_one[i] == sequence[i] -> goto evicted :: else fi);
#endif
#if RELATION == READER_WRITER
    if
    :: atomic { LOOKS_AGAIN -> goto again }
    :: atomic { !LOOKS_AGAIN -> goto enter_now }
#if DEATHS > 0
    :: MAY_DIE
#endif
    fi;
again:
    goto wait;
step_back:
    STEP(cell_held[i] = 0; trying = 0; q = 0);
    WAKE(i);
    goto wait;
#endif
enter_now:
    ENTER;

token:
#if RELATION == READER_WRITER
#if defined(MUTANT_ReaderTakesToken)
#define TAKES_TOKEN 1
#else
#define TAKES_TOKEN (mine == X)
#endif
    if
    :: atomic { !TAKES_TOKEN -> my_token = lock_token }
    :: atomic { TAKES_TOKEN -> my_token = lock_token + 1 };
       STEP(if :: mine == X -> assert(my_token > last_token); last_token = my_token :: else fi;    /* TOKEN */
            lock_token = my_token)
    fi;
    if
    :: atomic { mine == X && bias != NOBODY -> skip }; STEP(bias = NOBODY)   /* of one that died */
    :: atomic { mine != X || bias == NOBODY -> skip }
    fi;
#elif defined(MUTANT_TokenByLoadAndStore)
    STEP(my_token = lock_token + 1);
    STEP(lock_token = my_token; assert(my_token > last_token); last_token = my_token);    /* TOKEN */
#else
    STEP(my_token = lock_token + 1; lock_token = my_token; assert(my_token > last_token); last_token = my_token);    /* TOKEN */
#endif
held:
#ifdef MUTANT_NoHeld
    skip;
#else
    STEP(cell_held[i] = my_token;
         assert(my_token != 0 && (RELATION != READER_WRITER || my_token == last_token || last_token == 0 || mine == X)));    /* TOKEN */
#endif
#if RELATION == SEMAPHORE
#ifndef MUTANT_NoCascade
    WAKE(i);                                                    /* there may be room for the next one too */
#endif
#endif

section:
#if RELATION == RANGE
    /* The dead claims of all slots; health is INCONSISTENT if one overlaps ours. */
    j = 0; health = CONSISTENT;
    do
    :: atomic { j < N -> t = dead_flag[j] };
       if
       :: atomic { (t & 3) == NONE -> skip }
       :: atomic { (t & 3) != NONE -> c = dead_first[j] };
          if
          :: atomic { c <= last[i] && first[i] <= dead_last[j] ->
                health = INCONSISTENT;
#ifdef MUTANT_ClearsInPart
                if :: mine == X && (t & 3) == PRESENT -> flag = t; flag_of = j + 1 :: else fi
#else
                if :: mine == X && (t & 3) == PRESENT && first[i] <= c && dead_last[j] <= last[i] -> flag = t; flag_of = j + 1 :: else fi
#endif
              }
          :: atomic { !(c <= last[i] && first[i] <= dead_last[j]) -> skip }
          fi
       fi;
       atomic { t = 0; c = 0; j++ }
    :: atomic { j >= N -> j = 0; break }
    od;
    STEP(assert(health != CONSISTENT || !(torn_points & POINTS(i)));    /* NOTICE */
         assert(health != INCONSISTENT || dead_token != 0);    /* NOTICE */
         if :: mine == X -> working = working | BIT(i) :: else fi);
    if
    :: atomic { flag_of == 0 || health == CONSISTENT -> skip }
    :: atomic { flag_of != 0 -> skip };                         /* repaired, and marked consistent */
#ifdef MUTANT_ClearsByStore
       STEP(dead_flag[flag_of - 1] = (flag & ~3) | NONE; torn_points = torn_points & ~POINTS(i))
#else
       STEP(if
            :: dead_flag[flag_of - 1] == flag -> dead_flag[flag_of - 1] = (flag & ~3) | NONE; torn_points = torn_points & ~POINTS(i)
            :: else
            fi)
#endif
    fi;
    atomic { flag = 0; flag_of = 0 };
#elif RELATION == SEMAPHORE
    STEP(assert(lock_state == CONSISTENT));    /* NOTICE */
    if
    :: atomic { mine == 2 -> mine = 1 };                        /* a part is given back */
       STEP(mode[i] = 1; rights[i] = 1);
       WAKE(i)
    :: skip
    fi;
#else
    STEP(health = lock_state;
         if
         :: health == NOT_RECOVERABLE -> goto exit
         :: else -> if :: mine == X -> working = working | BIT(i) :: else fi
         fi;
         assert(!closed);    /* CLOSED */
         assert(health != CONSISTENT || !torn);    /* NOTICE */
         assert(health != INCONSISTENT || (dead_token != 0 && previous_owner == dead_token)));    /* NOTICE */
    if
    :: atomic { mine == X && health == INCONSISTENT -> skip };
       STEP(lock_state = CONSISTENT; health = CONSISTENT; torn = 0; dead_token = 0)              /* mark_consistent */
    :: skip
    fi;
    if
    :: atomic { mine == U -> goto upgrade }
#if DOWNGRADES > 0
    :: atomic { mine == X && downgrades < DOWNGRADES -> downgrades++; goto downgrade }
#endif
    :: skip
    fi;
#endif
#if STAYS > 0
    if
    :: atomic { stays < STAYS -> stays++; goto end_gone }
    :: skip
    fi;
#endif

exit:
#if RELATION == READER_WRITER
    if
    :: atomic { mine == X -> skip };
       STEP(CLOSE_IF_INCONSISTENT; rights[i] = 0; working = working & ~BIT(i));
       if
       :: atomic { by_upgrade -> by_upgrade = 0 }; STEP(bias = NOBODY)
       :: atomic { !by_upgrade -> skip }
       fi
    :: atomic { mine != X -> skip }
    fi;
#endif
    STEP(health = 0; my_token = 0; rights[i] = 0; working = working & ~BIT(i); cell_held[i] = 0);
leave:
    STEP(word[i] = IDLE; word_of_mine = 0; mine = 0);
wake:
    WAKE(i);
    goto take;

#if RELATION == READER_WRITER
upgrade: /* In place: the number stays where it is. */
#ifdef MUTANT_UpgradeNewNumber
    atomic { mine = X; trying = 0; OUT_OF_QUEUE(i) };
    STEP(mode[i] = X);
    goto choose;
#endif
    STEP(mode[i] = UPGRADING; mine = UPGRADING);
    STEP(bias = i + 1; queued = queued | BIT(i); q = 0);
    goto wait;
drain:  /* No earlier claim stands. Those that drew later numbers and came in before see to it that `held` is 0. */
#ifndef MUTANT_UpgraderIgnoresLaterReaders
    j = FIRST;
    do
    :: atomic { j < N && cell_held[j] == 0 -> NEXT(j) }
    :: atomic { j < N && cell_held[j] != 0 -> q = j; j = 0; goto draining }
    :: atomic { j >= N -> j = 0; break }
#if DEATHS > 0
    :: MAY_DIE
#endif
    od;
#endif
upgraded:
    STEP(assert(NEITHER(IS_INSIDE));    /* EXCLUSION */
         assert(my_token == lock_token);    /* ORDER */
         OUT_OF_QUEUE(i); by_upgrade = 1; rights[i] = X; my_token++);
    STEP(assert(my_token > last_token); last_token = my_token; lock_token = my_token);    /* TOKEN */
    STEP(cell_held[i] = my_token);
    STEP(mode[i] = X; mine = X);
#ifdef MUTANT_UpgradingOnlyUntilX
    STEP(bias = NOBODY; by_upgrade = 0);
#endif
    goto section;
draining:
    if
    :: atomic { cell_held[q] == 0 -> q = 0; goto wait }
#if STAYS > 0
    :: atomic { timeout && cell_held[q] != 0 -> goto end_gone }
#endif
#if DEATHS > 0
    :: atomic { byte_lock[q] == 0 -> byte_lock[q] = i + 1; goto reap }
    :: MAY_DIE
#endif
#if WITHDRAWALS > 0
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; q = 0; goto stay_upgradable }
#endif
    fi;

#if WITHDRAWALS > 0
stay_upgradable:
    STEP(mode[i] = U; mine = U; OUT_OF_QUEUE(i));
    STEP(bias = NOBODY);
    goto exit;
#endif

#if DOWNGRADES > 0
downgrade:
#ifdef MUTANT_DowngradeBeforeState
    if :: STEP(mode[i] = U; mine = U; CLOSED_IF_INCONSISTENT) :: STEP(mode[i] = S; mine = S; CLOSED_IF_INCONSISTENT) fi;
    STEP(CLOSE_IF_INCONSISTENT; rights[i] = mine; working = working & ~BIT(i));
#else
    if
    :: atomic { t = U }
    :: atomic { t = S }
    fi;
    STEP(CLOSE_IF_INCONSISTENT; rights[i] = t; working = working & ~BIT(i));
#ifndef MUTANT_ModeBeforeBiasWord
    BIAS_WORD_BACK;                                             /* first: from the mode on another U may upgrade */
#endif
    STEP(mode[i] = t; mine = t; t = 0);
#endif
#ifdef MUTANT_ModeBeforeBiasWord
    BIAS_WORD_BACK;
#endif
    WAKE(i);
    if
    :: atomic { mine == U && lock_state != NOT_RECOVERABLE -> goto upgrade }
    :: goto exit
    fi;
#endif
#endif

#if EVICTIONS > 0
evicted: /* A waiter behind us passed over us: to the end of the queue. */
    STEP(cell_held[i] = 0; trying = 0);
    STEP(word[i] = IDLE; word_of_mine = 0; before[i] = 0; room = 0; OUT_OF_QUEUE(i));
    WAKE(i);
    goto choose;
#endif

#if WITHDRAWALS > 0
withdraw:
    STEP(
#ifndef MUTANT_WithdrawKeepsNumber
         word[i] = IDLE;
#endif
         word_of_mine = 0; mine = 0; before[i] = 0; OUT_OF_QUEUE(i));
    WAKE(i);
    goto take;
#endif

#if DEATHS > 0
    /* ---- liveness::clear for q, with q's byte lock in hand. Every step may be repeated by the next reaper. ---- */
reap:
#ifdef MUTANT_ClearBeforeNotice
    STEP(word[q] = IDLE);
#endif
    if
    :: atomic { DIED_AS_WRITER(q) -> skip }
    :: atomic { !DIED_AS_WRITER(q) -> goto reap_held }
    :: MAY_DIE
    fi;
#if RELATION == RANGE
reap_claim: /* The dead claim, with what the cell says already: it may be of an earlier death there. */
    STEP(t = dead_flag[q]);
#ifdef MUTANT_DeadClaimOverwritten
    STEP(dead_flag[q] = (t & ~3) + 4 + WRITING);
    STEP(dead_first[q] = first[q]);
    STEP(dead_last[q] = last[q]);
#else
    STEP(dead_flag[q] = (t & ~3) + 4 + WRITING);
    STEP(dead_first[q] = ((t & 3) == NONE || first[q] < dead_first[q] -> first[q] : dead_first[q]));
    STEP(dead_last[q] = ((t & 3) == NONE || last[q] > dead_last[q] -> last[q] : dead_last[q]));
#endif
    STEP(dead_flag[q] = (t & ~3) + 4 + PRESENT; t = 0);
#else
    STEP(previous_owner = cell_held[q]);
    STEP(if :: lock_state == CONSISTENT -> lock_state = INCONSISTENT :: else fi);
#endif
reap_held:
    STEP(cell_held[q] = 0);
reap_notice:
    STEP(word[q] = IDLE);
reap_cleared:
    WAKE(q);
    if
    :: atomic { after == FOR_ATTACH -> q = 0; after = 0; goto take }
    :: atomic { after == FOR_WAIT -> skip }
    fi;
    STEP(byte_lock[q] = (byte_lock[q] == i + 1 -> 0 : byte_lock[q]); q = 0);
    goto wait;

dead:   /* kill -9: memory stays as it is, the kernel drops the byte locks. A newcomer takes the slot, or none does. */
    atomic {
        if :: DIED_WRITING(i) -> dead_token = cell_held[i] :: else fi;
#if RELATION == RANGE
        if :: working & BIT(i) -> torn_points = torn_points | POINTS(i) :: else fi;
        flag = 0; flag_of = 0;
#else
        if :: working & BIT(i) -> torn = 1 :: else fi;
#endif
#if EVICTIONS > 0
        passed = 0;
#endif
        rights[i] = 0; working = working & ~BIT(i); before[i] = 0; OUT_OF_QUEUE(i);
#if PARKING
        parked[i] = 0;
#endif
        byte_lock[0] = (byte_lock[0] == i + 1 -> 0 : byte_lock[0]);
        byte_lock[1] = (byte_lock[1] == i + 1 -> 0 : byte_lock[1]);
        byte_lock[N - 1] = (byte_lock[N - 1] == i + 1 -> 0 : byte_lock[N - 1]);
        j = 0; t = 0; c = 0; word_of_mine = 0; mine = 0; seen = 0; q = 0; sum = 0; room = 0; my_token = 0; health = 0; rounds = 0;
        after = 0; trying = 0; by_upgrade = 0;
        if :: goto claim :: goto gone fi
    };
#endif
end_gone:
    atomic { rounds == 99 -> skip };
gone:
    skip
}

init {
    atomic {
        byte p = 0;
        do :: p < N -> byte_lock[p] = p + 1; run Participant(p); p++ :: else -> break od
    }
}
