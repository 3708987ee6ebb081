/* The linked lock, where every participant sees every access at once (sequential consistency).
 *
 * MODELLED: this host's file, in which N programs acquire one linked mutex up to ROUNDS times each, and AGENTS agents, one at a time, that
 * move it away and home, up to MOVES times in all; the store that the agents ask who has the privilege; and the other host, which takes the
 * privilege when it is free, up to VISITS times, and enters. An agent may be killed at any step (KILLS in all) and comes back, or another
 * one comes; a program may be killed at any step (DEATHS) and does not come back. Who waits for a dead one reaps it. A program that waits
 * may give up (WITHDRAWALS).
 *
 * LEFT OUT: how the queue finds its order (here a number is drawn at once; bakery_sc and the others are about that), evictions, sleeping
 * and waking, death at a reaper's steps, patience; of the other host all but its entries. A bias is taken up to BIASES times.
 *
 * THE LABELS are the code's steps (core/src/acquire, core/src/algorithm/link.rs):
 *   doorway, wait, revoke, enter   the queue, and the entry step at its head
 *   settle, section, leave         the holder
 *   try, biased                    the bias owner
 *   shut                           link::wait_until_admitted
 *   move_away                      Attempt::move_away
 *   bring_home                     Link::bring_home; before it the block is reserved in the store
 *
 * ASSERTED:
 *   EXCLUSION  one inside at a time, of both hosts
 *   TOKEN      fencing tokens rise over both hosts
 *   NOTICE     one that is told nothing finds the data as the last section left them; and an agent that finds the lock home has the
 *              privilege
 *   NO DEADLOCK  whenever nothing more can happen, each program has done all its rounds, given up or died, and so has the other host
 *
 * MUTANTS: -DMUTANT_name, each at its place. README.md says what they are.
 */
#ifndef N
#define N 2                 /* programs */
#endif
#ifndef AGENTS
#define AGENTS 1
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef MOVES
#define MOVES 1
#endif
#ifndef VISITS
#define VISITS 1
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef WITHDRAWALS
#define WITHDRAWALS 0
#endif
#ifndef BIASES
#define BIASES 1
#endif
#ifndef BLOCK
#define BLOCK 3             /* tokens that are reserved at a time */
#endif
#define BIAS_LEAVES 2       /* with fewer left no bias begins; more than ROUNDS - 1 entries by one bias do not come */

#define SLOTS (N + AGENTS)
#define TRYING 255
#define REVOKED 16

/* ---- The file ------------------------------------------------------------------------------------------------------ */
byte number[SLOTS];
byte held[SLOTS];           /* 0, a fencing token, or TRYING */
byte bias;                  /* 0, or slot + 1, + REVOKED */
byte token, token_end;
bit away = 1;               /* these two are one word: stored at once */
bit inconsistent;
byte agent;                 /* 0, or slot + 1 */

/* ---- The kernel, and the store ------------------------------------------------------------------------------------- */
bit dead[SLOTS];
byte privilege;             /* 0 = nobody's, 1 = this host's, 2 = the other's */
byte reserved;              /* every token up to it is */
bit store_inconsistent;     /* a holder died inside, and the next one is to be told */

/* ---- What only the checker knows ------------------------------------------------------------------------------------ */
byte inside, last_token, moves, kills, deaths, withdrawals, biases, over;
bit torn;                   /* one died inside, and none has been told */

#if SLOTS == 2
#define BEFORE(i, j) (number[j] != 0 && number[j] < number[i])
#define IS_HEAD(i) (!BEFORE(i, 0) && !BEFORE(i, 1))
#define LAST (number[0] > number[1] -> number[0] : number[1])
#define OF_EACH_SLOT(choice) choice(0) choice(1)
#elif SLOTS == 3
#define BEFORE(i, j) (number[j] != 0 && number[j] < number[i])
#define IS_HEAD(i) (!BEFORE(i, 0) && !BEFORE(i, 1) && !BEFORE(i, 2))
#define LAST2(a, b) (number[a] > number[b] -> number[a] : number[b])
#define LAST (LAST2(0, 1) > number[2] -> LAST2(0, 1) : number[2])
#define OF_EACH_SLOT(choice) choice(0) choice(1) choice(2)
#else
#define BEFORE(i, j) (number[j] != 0 && number[j] < number[i])
#define IS_HEAD(i) (!BEFORE(i, 0) && !BEFORE(i, 1) && !BEFORE(i, 2) && !BEFORE(i, 3))
#define LAST2(a, b) (number[a] > number[b] -> number[a] : number[b])
#define LAST (LAST2(0, 1) > LAST2(2, 3) -> LAST2(0, 1) : LAST2(2, 3))
#define OF_EACH_SLOT(choice) choice(0) choice(1) choice(2) choice(3)
#endif

#if AGENTS == 1
#define IS_AGENT_BEHIND(i) (number[N] > number[i])
#else
#define IS_AGENT_BEHIND(i) (number[N] > number[i] || number[N + 1] > number[i])
#endif
#define OWNER ((bias & 15) - 1)
#ifdef MUTANT_IgnoresEnd
#define ADMITS (!away)
#else
#define ADMITS (!away && token < token_end)
#endif

/* Clears what slot j, which is dead, left: it blocks no participant any more, and is no agent. */
inline reap(j)
{
    d_step {
        if
        :: held[j] != 0 && held[j] != TRYING -> inconsistent = 1
        :: else
        fi;
        held[j] = 0;
        number[j] = 0;
        if
        :: agent == j + 1 ->
           agent = 0;
#ifdef MUTANT_ReaperOpens
           away = 0
#endif
        :: else
        fi;
        dead[j] = 0
    }
}
#define REAP_BEFORE_ME(j) :: atomic { dead[j] && (BEFORE(i, j) || (bias != 0 && OWNER == j && held[j] != 0)) -> reap(j) }

/* The section begins and ends, of whichever host's holder. */
#define BEGIN_SECTION(told) \
    assert(inside == 0); \
    inside = 1; \
    assert(my_token > last_token); \
    last_token = my_token; \
    assert(!torn || (told)); \
    torn = 0
#define END_SECTION inside = 0

/* x is done at once, or the participant's death comes instead. */
#define STEP(x) \
    if \
    :: atomic { x } \
    :: atomic { deaths < DEATHS -> deaths++; goto killed } \
    fi

/* Waits for the head of the queue, takes the entry step with nobody inside by a bias. Then comes `entered`. */
#define TAKE_HEAD(entered) \
    do \
    :: atomic { IS_HEAD(i) && (bias == 0 || OWNER == i) -> held[i] = TRYING; goto entered } \
    :: atomic { IS_HEAD(i) && bias != 0 && OWNER != i && bias < REVOKED -> bias = bias + REVOKED } \
    :: atomic { IS_HEAD(i) && bias >= REVOKED && OWNER != i && held[OWNER] == 0 -> held[i] = TRYING; goto entered } \
    OF_EACH_SLOT(REAP_BEFORE_ME) \
    MAY_END \
    od

proctype Participant(byte i)
{
    byte rounds, my_token;
    bit is_biased, told;
#ifdef MUTANT_AsksInDoorway
    bit was_admitted;
#endif

outside:
    if
    :: atomic { rounds < ROUNDS && is_biased -> rounds++; goto try }
    :: atomic { rounds < ROUNDS && !is_biased -> rounds++; goto doorway }
    :: atomic { rounds == ROUNDS -> goto ends }
    fi;

try:
    STEP(held[i] = TRYING);
    if
    :: atomic { bias == i + 1 -> goto biased }
    :: atomic { bias != i + 1 -> held[i] = 0; is_biased = 0; goto doorway }
    :: atomic { deaths < DEATHS -> deaths++; goto killed }
    fi;
biased:
    STEP(token++; my_token = token);
    STEP(held[i] = my_token; told = 0; BEGIN_SECTION(0));
    if
    :: atomic { END_SECTION; held[i] = 0; goto outside }
    :: atomic { deaths < DEATHS -> deaths++; torn = 1; END_SECTION; goto killed }
    fi;

doorway:
#ifdef MUTANT_AsksInDoorway
    was_admitted = ADMITS;
#endif
    STEP(number[i] = LAST + 1);
wait:
#define MAY_END \
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; number[i] = 0; goto outside } \
    :: atomic { deaths < DEATHS -> deaths++; goto killed }
    TAKE_HEAD(enter);
#undef MAY_END
enter:
#ifdef MUTANT_AsksInDoorway
    if
    :: atomic { was_admitted -> goto settle }
    :: atomic { !was_admitted && ADMITS -> goto settle }
    :: atomic { !was_admitted && !ADMITS -> held[i] = 0 }
    fi;
#else
    if
    :: atomic { ADMITS -> goto settle }
    :: atomic { !ADMITS -> held[i] = 0 }
    :: atomic { deaths < DEATHS -> deaths++; goto killed }
    fi;
#endif
shut:
    if
    :: atomic { ADMITS -> goto wait }
    /* One that could come and does not, since no tokens are left, is passed over by an agent behind it, and queues again. */
    :: atomic { !away && !ADMITS && IS_AGENT_BEHIND(i) -> number[i] = LAST + 1; goto wait }
    :: atomic { withdrawals < WITHDRAWALS -> withdrawals++; number[i] = 0; goto outside }
    :: atomic { deaths < DEATHS -> deaths++; goto killed }
    fi;

settle:
    STEP(bias = 0);
    STEP(token++; my_token = token);
    STEP(held[i] = my_token; told = inconsistent; BEGIN_SECTION(told); inconsistent = 0);
    if
    :: atomic { !told && biases < BIASES && token + BIAS_LEAVES <= token_end -> biases++; bias = i + 1; is_biased = 1 }
    :: skip
    fi;
section:
    if
    :: atomic { is_biased -> number[i] = 0; goto biased_section }
    :: atomic { !is_biased -> END_SECTION; held[i] = 0 }
    :: atomic { deaths < DEATHS -> deaths++; torn = 1; END_SECTION; goto killed }
    fi;
leave:
    STEP(number[i] = 0);
    goto outside;

biased_section:
    if
    :: atomic { END_SECTION; held[i] = 0; goto outside }
    :: atomic { deaths < DEATHS -> deaths++; torn = 1; END_SECTION; goto killed }
    fi;

killed:
    dead[i] = 1;
    /* A newcomer, or one that waits, reaps it; here at the latest. */
    atomic { if :: dead[i] -> reap(i) :: else fi };
ends:
    over++
}

#ifdef MUTANT_StoredOnly
#define OWN_OR_STORED store_inconsistent
#else
#define OWN_OR_STORED (store_inconsistent || inconsistent)
#endif

proctype Agent(byte i)
{
    byte end, other;
    bit t, is_inconsistent;

#undef STEP
#define STEP(x) \
    if \
    :: atomic { x } \
    :: atomic { kills < KILLS -> kills++; goto killed } \
    fi

comes:
    if
    :: atomic { over == N + 1 -> goto ends }
#ifdef MUTANT_AttachesBeside
    :: atomic { over < N + 1 -> agent = i + 1 }
#else
    :: atomic { over < N + 1 && agent == 0 -> agent = i + 1 }
    :: atomic { over < N + 1 && agent != 0 && dead[agent - 1] -> other = agent - 1; reap(other); goto comes }
#endif
    fi;
    if
    :: !away -> goto home
    :: away -> goto is_away
    fi;

home:
    /* Unless it stands for the moment at another agent's steps, of which there is one at a time. */
    t = (privilege != 1);
    assert(t == 0);
    if
    :: atomic { moves < MOVES -> moves++ }
    :: atomic { token >= token_end && over < N + 1 -> goto extend }
    :: atomic { over == N + 1 -> goto detach }
    :: atomic { kills < KILLS -> kills++; goto killed }
    fi;

#ifdef MUTANT_PrivilegeBeforeAway
    STEP(privilege = 0; store_inconsistent = inconsistent);
#endif
#ifndef MUTANT_AwayOutsideEntry
    STEP(number[i] = LAST + 1);
#ifdef MUTANT_AwayBesideBias
    if :: atomic { IS_HEAD(i) -> held[i] = TRYING; goto move_away } fi;
#else
#define MAY_END :: atomic { kills < KILLS -> kills++; goto killed }
    TAKE_HEAD(move_away);
#endif
#endif
move_away:
#ifndef MUTANT_AwayBesideBias
    STEP(bias = 0);
#endif
    STEP(away = 1);
    STEP(held[i] = 0);
    STEP(number[i] = 0);
#ifndef MUTANT_PrivilegeBeforeAway
    STEP(privilege = 0; store_inconsistent = inconsistent);
#endif

is_away:
    if
    /* It was not given up, or was taken already: which of them the file does not say, so the worse of both counts. */
    :: atomic { privilege == 1 -> is_inconsistent = OWN_OR_STORED }
    :: atomic { privilege == 0 && over < N + 1 -> privilege = 1; is_inconsistent = store_inconsistent }
    :: atomic { privilege != 1 && over == N + 1 -> goto detach }
    :: atomic { kills < KILLS -> kills++; goto killed }
    fi;
#ifdef MUTANT_BlockKept
    STEP(if :: token_end == 0 -> reserved = reserved + BLOCK; end = reserved :: else -> end = token_end fi);
#else
    STEP(reserved = reserved + BLOCK; end = reserved);
#endif
bring_home:
#ifdef MUTANT_HomeBeforeTokens
    STEP(away = 0; inconsistent = is_inconsistent);
#endif
    STEP(if :: token < end - BLOCK -> token = end - BLOCK :: else fi);
    STEP(token_end = end);
#ifdef MUTANT_HomeForgetsDeath
    STEP(away = 0; inconsistent = 0);
#else
#ifndef MUTANT_HomeBeforeTokens
    STEP(away = 0; inconsistent = is_inconsistent);
#endif
#endif
    goto home;

extend:
    /* Nobody else reserves while the privilege is ours. */
    STEP(reserved = reserved + BLOCK);
    STEP(token_end = reserved);
    goto home;

killed:
    dead[i] = 1;
    goto comes_back;
comes_back:
    /* It takes another slot, or this one when it is reaped. */
    if
    :: atomic { dead[i] -> reap(i); goto comes }
    :: atomic { !dead[i] -> goto comes }
    fi;

detach:
    atomic { if :: agent == i + 1 -> agent = 0 :: else fi };
ends:
    skip
}

/* The other host: whatever its programs and its agent do, it enters while it has the privilege. */
proctype Other()
{
    byte visits, my_token;
    do
    :: atomic { visits < VISITS && privilege == 0 -> visits++; privilege = 2 };
       atomic { reserved++; my_token = reserved; BEGIN_SECTION(store_inconsistent); store_inconsistent = 0 };
       atomic { END_SECTION; privilege = 0 }
    :: atomic { visits == VISITS -> break }
    :: atomic { over == N -> break }
    od;
    over++
}

init {
    atomic {
        byte i;
        i = 0;
        do
        :: i < N -> run Participant(i); i++
        :: i >= N && i < SLOTS -> run Agent(i); i++
        :: else -> break
        od;
        run Other()
    }
}
