/* The search for deadlocks, where every participant sees every access at once (sequential consistency).
 *
 * MODELLED: N threads and LOCKS mutexes. A thread does up to ROUNDS things: it takes a free lock, or releases one, or waits without a
 * limit for one that another thread has. A lock may be taken by a participant that threads share (HOLDS times in all): a helper may
 * release it. While a thread waits it may be cancelled (CANCELS), and a signal handler of it may take a free lock and give it back
 * (HANDLERS). A thread may be killed while it waits, or outside (DEATHS); a reaper releases what it had.
 *
 * The searcher looks for a circle through any one thread, again and again, each load a step of its own. It is an observer, as `turnlock
 * status` is. A thread that searches is one that does nothing else meanwhile, which leaves fewer executions. The first reading goes from
 * wait to hold to wait until it comes back to the first thread; the second one reads each edge again, in the same order; then each
 * thread is asked whether it lives.
 *
 * LEFT OUT: edges through the queue of a lock; several holders of one lock (each is an edge, and one suffices); slots that are taken
 * anew; who of a circle is told, and that it must be found twice, a nap apart.
 *
 * THE LABELS are the code's steps (core/src/deadlock):
 *   begin_wait, end_wait        WaitWord::begin, WaitWord::end; between them the wait
 *   read_first                  Search::read_first
 *   read_again                  stands
 *   found                       a circle
 *
 * ASSERTED:
 *   CIRCLE     a circle is found only if, between the two readings, every thread in it lived and waited, and each lock that one waits
 *              for was held by the next one, by a thread's own slot
 *
 * MUTANTS: -DMUTANT_name, each at its place. README.md says what they are.
 */
#ifndef N
#define N 2                 /* threads */
#endif
#ifndef LOCKS
#define LOCKS 2
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif
#ifndef HOLDS
#define HOLDS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef HANDLERS
#define HANDLERS 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif

/* ---- The file ------------------------------------------------------------------------------------------------------ */
byte wait_word[N];          /* 8 * number of the change + lock + 1, or + 0: it waits for none */
#define LOCK_OF(word) ((word) & 7)
#define NUMBER_OF(word) ((word) >> 3)
byte held[LOCKS];           /* 8 * fencing token + 2 * thread + 2, + 1 if it is held by a participant that threads share; 0 = free */
#define IS_HOLD(h) ((h) & 1)
#define OWNER_OF(h) ((((h) & 7) >> 1) - 1)
#define TOKEN_OF(h) ((h) >> 3)
byte token[LOCKS];

/* ---- The kernel ---------------------------------------------------------------------------------------------------- */
bit dead[N];

/* ---- What only the checker knows ------------------------------------------------------------------------------------ */
byte waits_for[N];          /* lock + 1; 0 = it does not wait */
byte holds, cancels, handlers, deaths;

#define TAKE(l, by_hold) token[l]++; held[l] = 8 * token[l] + 2 * i + 2 + (by_hold)
#define HAS(l) (held[l] != 0 && OWNER_OF(held[l]) == i)
#define CHANGED(word) (8 * (NUMBER_OF(word) + 1))
#if LOCKS == 2
#define OF_EACH_LOCK(choice) choice(0) choice(1)
#else
#define OF_EACH_LOCK(choice) choice(0) choice(1) choice(2)
#endif
/* What a thread may do with lock l. */
#define TRY(l) :: atomic { held[l] == 0 -> TAKE(l, 0) }
#define TRY_BY_HOLD(l) :: atomic { held[l] == 0 && holds < HOLDS -> holds++; TAKE(l, 1) }
#define RELEASE(l) :: atomic { HAS(l) -> held[l] = 0 }
#define WAIT(l) :: atomic { held[l] != 0 && !HAS(l) -> wanted = l; waits_for[i] = l + 1; goto begin_wait }
#define IN_HANDLER(l) :: atomic { held[l] == 0 && wanted != l && !by_handler && handlers < HANDLERS -> \
    handlers++; by_handler = 1; taken = l; TAKE(l, 0); goto end_waits }
#define HELP(l) :: atomic { held[l] != 0 && IS_HOLD(held[l]) -> held[l] = 0 }

proctype Participant(byte i)
{
    byte rounds, wanted, taken, l;
    bit by_handler;

outside:
    if
    :: atomic { rounds < ROUNDS -> rounds++ };
       if
       OF_EACH_LOCK(TRY)
       OF_EACH_LOCK(TRY_BY_HOLD)
       OF_EACH_LOCK(RELEASE)
       OF_EACH_LOCK(WAIT)
       :: skip
       fi;
       goto outside
    :: atomic { rounds == ROUNDS -> goto ends }
    :: atomic { deaths < DEATHS -> deaths++; goto killed }
    fi;

begin_wait:
    wait_word[i] = CHANGED(wait_word[i]) + wanted + 1;
end_waits:
    if
    :: atomic { held[wanted] == 0 && !by_handler -> TAKE(wanted, 0); waits_for[i] = 0 }
    :: atomic { cancels < CANCELS && !by_handler -> cancels++ }
    :: atomic { deaths < DEATHS -> deaths++; goto killed }
    OF_EACH_LOCK(IN_HANDLER)
    :: atomic { by_handler -> held[taken] = 0; by_handler = 0; goto end_waits }
    fi;
end_wait:
    /* One that was cancelled waits until its word says that it does not. */
    d_step {
        waits_for[i] = 0;
#ifndef MUTANT_WordLeftBehind
        wait_word[i] = CHANGED(wait_word[i])
#endif
    };
    goto outside;

ends:
    l = 0;
    do
    :: l < LOCKS -> if :: atomic { HAS(l) -> held[l] = 0 } :: else fi; l++
    :: else -> break
    od;
    goto over;

killed:
    dead[i] = 1;
    /* The reaper, in the dead one's place. */
    l = 0;
    do
    :: l < LOCKS -> if :: atomic { HAS(l) -> held[l] = 0 } :: else fi; l++
    :: else -> break
    od;
    wait_word[i] = CHANGED(wait_word[i]);
over:
    skip
}

/* Looks for a circle from any thread on. */
active proctype searcher()
{
    byte path_thread[N], path_word[N], path_held[N];
    byte first, length, at, word, h, l;
    bit real;

search:
end_search:
    atomic {
        length = 0;
        if :: first = 0 :: first = 1
#if N > 2
           :: first = 2
#endif
        fi;
        at = first
    };
    word = wait_word[at];
    if :: LOCK_OF(word) == 0 -> goto search :: else fi;

read_first:
    atomic { path_thread[length] = at; path_word[length] = word };
    h = held[LOCK_OF(word) - 1];
    path_held[length] = h;
    length++;
#ifdef MUTANT_HoldCounted
    if :: h == 0 -> goto search :: else fi;
#else
    if :: h == 0 || IS_HOLD(h) -> goto search :: else fi;
#endif
    /* A wait that has just ended is no wait for itself. */
    if :: OWNER_OF(h) == at -> goto search :: else -> at = OWNER_OF(h) fi;
    if
    :: at == first -> skip
    :: else ->
       if :: length == N -> goto search :: else fi;
       word = wait_word[at];
       if :: LOCK_OF(word) == 0 -> goto search :: else fi;
       goto read_first
    fi;

    /* Between the two readings. */
    d_step {
        real = 1;
        at = 0;
        do
        :: at < length ->
           l = LOCK_OF(path_word[at]) - 1;
           word = path_thread[(at + 1) % length];
           real = (real && waits_for[path_thread[at]] == l + 1 && !dead[path_thread[at]]
                        && held[l] != 0 && !IS_HOLD(held[l]) && OWNER_OF(held[l]) == word);
           at++
        :: else -> break
        od;
        at = 0
    };
#ifdef MUTANT_OneReading
    goto found;
#endif

read_again:
    do
    :: at < length ->
#ifdef MUTANT_NumberNotCompared
       if :: LOCK_OF(wait_word[path_thread[at]]) != LOCK_OF(path_word[at]) -> goto search :: else fi;
#else
       if :: wait_word[path_thread[at]] != path_word[at] -> goto search :: else fi;
#endif
#ifndef MUTANT_HoldReadOnce
       h = held[LOCK_OF(path_word[at]) - 1];
#ifdef MUTANT_TokenNotCompared
       if :: h == 0 || IS_HOLD(h) || OWNER_OF(h) != OWNER_OF(path_held[at]) -> goto search :: else fi;
#else
       if :: h != path_held[at] -> goto search :: else fi;
#endif
#endif
#ifdef MUTANT_NumberNotCompared
       if :: LOCK_OF(wait_word[path_thread[(at + 1) % length]]) != LOCK_OF(path_word[(at + 1) % length]) -> goto search
          :: else fi;
#else
       if :: wait_word[path_thread[(at + 1) % length]] != path_word[(at + 1) % length] -> goto search :: else fi;
#endif
       at++
    :: else -> break
    od;
#ifndef MUTANT_DeadCounted
    at = 0;
    do
    :: at < length -> if :: dead[path_thread[at]] -> goto search :: else -> at++ fi
    :: else -> break
    od;
#endif

found:
    assert(real);           /* CIRCLE */
    goto search
}

#if HOLDS > 0
/* Another thread, which releases what a shared participant holds. */
active proctype helper()
{
end:
    do
    OF_EACH_LOCK(HELP)
    od
}
#endif

init {
    atomic {
        run Participant(0);
        run Participant(1);
#if N > 2
        run Participant(2);
#endif
    }
}
