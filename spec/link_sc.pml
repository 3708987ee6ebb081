/* The linked lock, where every participant sees every access at once (sequential consistency).
 *
 * MODELLED: this host's file, in which N programs acquire one linked mutex up to ROUNDS times each, and AGENTS agents, one at a time, that
 * move it away and home, up to MOVES times in all; the store that the agents ask who has the privilege; and the other host, which takes the
 * privilege when it is free, up to VISITS times, and enters. An agent may be killed at any step (KILLS in all) and comes back, or another
 * one comes; a program may be killed at any step (DEATHS) and does not come back. Who waits for a dead one reaps it. A program that waits
 * may give up (WITHDRAWALS).
 *
 * With LEASED the lock is leased (docs/hosts.md, "Two modes"): time goes on, up to TIME; the privilege of this host ends LENGTH after the store
 * carried out the call that kept its lease last, and the file admits programs up to MARGIN before the earliest time at which that can be. The
 * agent keeps the lease, or is late. The other host's lease is kept while it needs it.
 *
 * LEFT OUT: how the queue finds its order (here a number is drawn at once; bakery_sc and the others are about that), evictions, sleeping
 * and waking, death at a reaper's steps, patience; of the other host all but its entries. A bias is taken up to BIASES times. With LEASED, clocks
 * that drift, which the margin is for as well (link/agent/tests/simulated has them), and a second agent.
 *
 * THE LABELS are the code's steps (core/src/acquire, core/src/algorithm/link.rs):
 *   doorway, wait, revoke, enter   the queue, and the entry step at its head
 *   settle, section, leave         the holder
 *   try, biased                    the bias owner
 *   shut                           link::wait_until_admitted
 *   move_away                      Attempt::move_away
 *   bring_home                     Link::bring_home; before it the block is reserved in the store
 *   keep                           Agent::keep_the_lease and on_kept; Link::set_lease_end
 *
 * ASSERTED:
 *   EXCLUSION  one inside at a time, of both hosts. LEASED: or the one of this host is told, by still_owner, that it is not the owner any more;
 *              has been, for MARGIN, when the other host comes in; and is not told otherwise afterwards
 *   TOKEN      fencing tokens rise over both hosts; LEASED: but for one that is told so
 *   LEASE      LEASED: no program is admitted once the lease is over
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
#ifndef TIME
#define TIME 4
#endif
#ifndef LENGTH
#define LENGTH 3
#endif
#ifndef MARGIN
#define MARGIN 1
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
#ifdef LEASED
byte lease_end;             /* when programs are admitted no more; 0 = never */
#endif

/* ---- The kernel, and the store ------------------------------------------------------------------------------------- */
bit dead[SLOTS];
byte privilege;             /* 0 = nobody's, 1 = this host's, 2 = the other's */
byte reserved;              /* every token up to it is */
bit store_inconsistent;     /* a holder died inside, and the next one is to be told */
#ifdef LEASED
byte now;
byte store_end;             /* when the lease of this host's privilege ends */
byte taken_by;              /* the host that took the privilege and has not given it up; 0 = none */
#endif

/* ---- What only the checker knows ------------------------------------------------------------------------------------ */
byte inside, last_token, moves, kills, deaths, withdrawals, biases, over;
bit torn;                   /* one died inside, and none has been told */
#ifdef LEASED
bit inside_there;           /* the other host's, which is not counted in `inside` */
bit lost;                   /* the other host came in beside the one that is inside here, or before it */
#endif

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
#elif !defined LEASED || defined MUTANT_AdmitsBeyondLease
#define ADMITS (!away && token < token_end)
#else
#define ADMITS (!away && token < token_end && (lease_end == 0 || now < lease_end))
#endif
#ifdef LEASED
#define IS_TOLD (lease_end != 0 && now >= lease_end)
#define ADMITTED assert(!IS_TOLD);
#ifdef MUTANT_BiasUnderLease
#define MAY_BEGIN_BIAS (biases < BIASES && token + BIAS_LEAVES <= token_end)
#else
#define MAY_BEGIN_BIAS (lease_end == 0 && biases < BIASES && token + BIAS_LEAVES <= token_end)
#endif
#else
#define ADMITTED
#define MAY_BEGIN_BIAS (biases < BIASES && token + BIAS_LEAVES <= token_end)
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
#ifdef LEASED
/* Here: what comes after the lease is over, by a program that was admitted before, is fenced off by its token. */
#define BEGIN_SECTION(told) \
    assert(inside == 0); \
    inside = 1; \
    if \
    :: IS_TOLD -> \
       lost = (inside_there || my_token < last_token); \
       torn = (torn && !(told)) \
    :: else -> \
       assert(!inside_there); \
       assert(my_token > last_token); \
       last_token = my_token; \
       assert(!torn || (told)); \
       torn = 0 \
    fi
#define END_SECTION inside = 0; lost = 0
/* What one does that the other host came in beside, or before, is fenced off. */
#define TEAR torn = (torn || !lost)
#define BEGIN_SECTION_THERE(told) \
    assert(!inside || (lease_end != 0 && now >= lease_end + MARGIN)); \
    inside_there = 1; \
    assert(my_token > last_token); \
    last_token = my_token; \
    assert(!(torn || (inside && !lost)) || (told)); \
    lost = inside; \
    torn = 0
#define END_SECTION_THERE inside_there = 0
#else
#define BEGIN_SECTION(told) \
    assert(inside == 0); \
    inside = 1; \
    assert(my_token > last_token); \
    last_token = my_token; \
    assert(!torn || (told)); \
    torn = 0
#define END_SECTION inside = 0
#define TEAR torn = 1
#endif

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
    :: atomic { bias == i + 1 -> ADMITTED goto biased }
    :: atomic { bias != i + 1 -> held[i] = 0; is_biased = 0; goto doorway }
    :: atomic { deaths < DEATHS -> deaths++; goto killed }
    fi;
biased:
    STEP(token++; my_token = token);
    STEP(held[i] = my_token; told = 0; BEGIN_SECTION(0));
    if
    :: atomic { END_SECTION; held[i] = 0; goto outside }
    :: atomic { deaths < DEATHS -> deaths++; TEAR; END_SECTION; goto killed }
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
    :: atomic { ADMITS -> ADMITTED goto settle }
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
    :: atomic { !told && MAY_BEGIN_BIAS -> biases++; bias = i + 1; is_biased = 1 }
    :: skip
    fi;
section:
    if
    :: atomic { is_biased -> number[i] = 0; goto biased_section }
    :: atomic { !is_biased -> END_SECTION; held[i] = 0 }
    :: atomic { deaths < DEATHS -> deaths++; TEAR; END_SECTION; goto killed }
    fi;
leave:
    STEP(number[i] = 0);
    goto outside;

biased_section:
    if
    :: atomic { END_SECTION; held[i] = 0; goto outside }
    :: atomic { deaths < DEATHS -> deaths++; TEAR; END_SECTION; goto killed }
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

#ifndef LEASED
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

#else
/* The agent of a leased lock. What it does to the queue is as above. */
proctype Agent(byte i)
{
    byte end, sent, until, granted;
    bit is_inconsistent, is_ours;

#undef STEP
#define STEP(x) \
    if \
    :: atomic { x } \
    :: atomic { kills < KILLS -> kills++; goto killed } \
    fi
#ifdef MUTANT_NoMargin
#define DEADLINE (sent + LENGTH)
#else
#define DEADLINE (sent + LENGTH - MARGIN)
#endif
#ifdef MUTANT_CountsFromAnswer
#define NOTE_SENT skip
#define NOTE_ANSWER sent = now
#else
#define NOTE_SENT sent = now
#define NOTE_ANSWER skip
#endif

comes:
    if
    :: atomic { over == N + 1 -> goto ends }
    :: atomic { over < N + 1 && agent == 0 -> agent = i + 1 }
    fi;
    if
    :: !away -> goto keep
    :: away -> goto is_away
    fi;

home:
    if
    :: atomic { now < TIME && now < lease_end && over < N + 1 -> goto keep }
    :: atomic { now >= lease_end && over < N + 1 -> skip }
    :: atomic { moves < MOVES && over < N + 1 -> moves++ }
    :: atomic { token >= token_end && over < N + 1 -> goto extend }
    :: atomic { over == N + 1 -> goto detach }
    :: atomic { kills < KILLS -> kills++; goto killed }
    fi;
    goto leaves;

keep:
    STEP(NOTE_SENT);
    /* In the store: the lease is kept, or, by an agent that comes, one of its own takes its place. */
#ifdef MUTANT_RenewsOver
    STEP(is_ours = (privilege == 1 || (privilege == 0 && taken_by != 2));
         if :: is_ours -> privilege = 1; taken_by = 1; store_end = now + LENGTH :: else fi);
#else
    STEP(is_ours = (privilege == 1); if :: is_ours -> store_end = now + LENGTH :: else fi);
#endif
    STEP(NOTE_ANSWER; until = DEADLINE);
    if
    :: atomic { is_ours -> skip }
    :: atomic { !is_ours -> goto lost_it }
    :: atomic { kills < KILLS -> kills++; goto killed }
    fi;
    STEP(if
         :: until != lease_end -> assert(!lost || until <= now); lease_end = until
         :: else
         fi);
    goto home;
lost_it:
    /* No later than now. */
    STEP(if :: lease_end > now -> lease_end = now :: else fi);

leaves:
    STEP(number[i] = LAST + 1);
#define MAY_END :: atomic { kills < KILLS -> kills++; goto killed }
    TAKE_HEAD(move_away);
move_away:
    STEP(bias = 0);
    STEP(away = 1);
    STEP(held[i] = 0);
    STEP(number[i] = 0);
    /* Of a privilege that ended before, what is known here counts if no other host has taken it since. */
    STEP(if
         :: privilege == 1 || (privilege == 0 && taken_by == 1) ->
            privilege = 0; taken_by = 0; store_inconsistent = inconsistent
         :: else
         fi);

is_away:
    if
    :: atomic { privilege == 1 -> is_inconsistent = OWN_OR_STORED }
    :: atomic { privilege == 0 && over < N + 1 && taken_by == 1 -> is_inconsistent = OWN_OR_STORED }
    :: atomic { privilege == 0 && over < N + 1 && taken_by == 0 -> is_inconsistent = store_inconsistent }
    :: atomic { privilege != 1 && over == N + 1 -> goto detach }
    :: atomic { kills < KILLS -> kills++; goto killed }
    fi;
    STEP(NOTE_SENT);
    STEP(granted = now + LENGTH);
    /* By a transaction, which is refused if the lease is over, or the keys are others by now. */
    STEP(is_ours = (now < granted && privilege != 2);
         if
         :: is_ours -> privilege = 1; taken_by = 1; store_end = granted; reserved = reserved + BLOCK; end = reserved
         :: else
         fi);
    STEP(NOTE_ANSWER; until = DEADLINE);
    if
    :: atomic { is_ours && now < until -> skip }
    :: atomic { !(is_ours && now < until) -> goto is_away }
    :: atomic { kills < KILLS -> kills++; goto killed }
    fi;
bring_home:
#ifndef MUTANT_HomeBeforeDeadline
    STEP(lease_end = until);
#endif
    STEP(if :: token < end - BLOCK -> token = end - BLOCK :: else fi);
    STEP(token_end = end);
    STEP(away = 0; inconsistent = is_inconsistent);
#ifdef MUTANT_HomeBeforeDeadline
    STEP(lease_end = until);
#endif
    goto home;

extend:
    STEP(is_ours = (privilege == 1); if :: is_ours -> reserved = reserved + BLOCK :: else fi);
    STEP(if :: is_ours -> token_end = reserved :: else fi);
    goto home;

killed:
    dead[i] = 1;
    atomic { if :: dead[i] -> reap(i) :: else fi };
    goto comes;

detach:
    atomic { if :: agent == i + 1 -> agent = 0 :: else fi };
ends:
    skip
}

/* When a lease is over the store takes the privilege back. That this host had not given it up stays written down. */
proctype Clock()
{
    do
    :: atomic {
           now < TIME -> now++;
           if
           :: privilege == 1 && now >= store_end -> privilege = 0
           :: else
           fi
       }
    :: atomic { now == TIME -> break }
    od
}
#endif

/* The other host: whatever its programs and its agent do, it enters while it has the privilege. */
proctype Other()
{
    byte visits, my_token;
#ifdef LEASED
    bit told;
    do
    :: atomic {
           visits < VISITS && privilege == 0 -> visits++; privilege = 2;
#ifdef MUTANT_TakesOverUntold
           told = store_inconsistent;
#else
           told = (store_inconsistent || taken_by == 1);
#endif
           taken_by = 2
       };
       atomic { reserved++; my_token = reserved; BEGIN_SECTION_THERE(told); store_inconsistent = 0 };
       atomic { END_SECTION_THERE; privilege = 0; taken_by = 0 }
    :: atomic { visits == VISITS -> break }
    :: atomic { over == N -> break }
    od;
#else
    do
    :: atomic { visits < VISITS && privilege == 0 -> visits++; privilege = 2 };
       atomic { reserved++; my_token = reserved; BEGIN_SECTION(store_inconsistent); store_inconsistent = 0 };
       atomic { END_SECTION; privilege = 0 }
    :: atomic { visits == VISITS -> break }
    :: atomic { over == N -> break }
    od;
#endif
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
#ifdef LEASED
        run Clock();
#endif
        run Other()
    }
}
