<?php
// Processes that change the cache are killed (-9), and the cache has to go on: the next process that needs it empties it,
// and says so in the log, once. Ends with 1, and says what was wrong, if a process hangs or crashes, a value that was read
// is not one that was stored, the log has more lines than there were deaths, or the cache does not work in the end.
//
//     php -d extension=apcu.so -d apc.enable_cli=1 kill.php [KILLS [PROCESSES]]

const EMPTIED = 'APCu: a process was killed while it changed the cache, which was emptied';
const KEYS = 2000;
const SECONDS = 30; // how long a process may take for what takes milliseconds

$kills = (int) ($argv[1] ?? 300);
$processes = (int) ($argv[2] ?? 8);
$log = tempnam(sys_get_temp_dir(), 'apcu');
ini_set('log_errors', '1');
ini_set('display_errors', '0');
ini_set('error_log', $log);
error_reporting(E_ALL);

function fail(string $why): never
{
    echo "WRONG: $why\n";
    readfile($GLOBALS['log']);
    exit(1);
}

function child(callable $job): int
{
    $pid = pcntl_fork();
    if ($pid === 0) {
        $job();
        posix_kill(posix_getpid(), SIGKILL); // none of PHP's own ending, which is the parent's
    }
    return $pid;
}

/** Waits for a child's end, which a kill has to be. */
function await(int $pid, string $who): void
{
    $until = microtime(true) + SECONDS;
    while (pcntl_waitpid($pid, $status, WNOHANG) === 0) {
        if (microtime(true) > $until) {
            posix_kill($pid, SIGKILL);
            fail("$who hangs");
        }
        usleep(500);
    }
    if (pcntl_wtermsig($status) !== SIGKILL) {
        fail("$who crashed (status $status)");
    }
}

/** Every line of the log has to say that the cache was emptied. Returns how many there are. */
function emptied(): int
{
    $lines = file($GLOBALS['log'], FILE_IGNORE_NEW_LINES);
    foreach ($lines as $line) {
        if (!str_ends_with($line, EMPTIED)) {
            fail('the log has another line');
        }
    }
    return count($lines);
}

/** Runs a job in a child, and waits until it says `ready`, which it does by calling its argument. */
function start(callable $job): int
{
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $pid = child(fn () => $job(fn () => fwrite($theirs, '.')));
    stream_set_timeout($ours, SECONDS);
    if (fread($ours, 1) !== '.') {
        fail('a process does not get ready');
    }
    return $pid;
}

function kill_writer(): void
{
    $writer = start(fn ($ready) => apcu_entry('inside', function () use ($ready) {
        $ready();
        sleep(1000);
    }));
    posix_kill($writer, SIGKILL);
    await($writer, 'a writer');
}

// The first call after a writer's death, of each kind: it finds an empty cache, and there is one line more in the log.
$calls = [
    'fetch' => fn () => apcu_fetch('there') === false,
    'fetch of several' => fn () => apcu_fetch(['there', 'also']) === [],
    'exists' => fn () => !apcu_exists('there'),
    'store' => fn () => apcu_store('there', 'again') && apcu_fetch('there') === 'again',
    'add' => fn () => apcu_add('there', 'again') && apcu_fetch('there') === 'again',
    'inc' => fn () => apcu_inc('count') === 1,
    'cas' => fn () => apcu_cas('count', 0, 2) === false,
    'delete' => fn () => apcu_delete('there') === false,
    'entry' => fn () => apcu_entry('there', fn () => 'again') === 'again' && apcu_fetch('there') === 'again',
    'key_info' => fn () => apcu_key_info('there') === null,
    'cache_info' => fn () => apcu_cache_info()['num_entries'] === 0,
    'iterator' => fn () => iterator_count(new APCUIterator()) === 0,
    'clear_cache' => fn () => apcu_clear_cache(),
];
$lines = 0;
foreach ($calls as $name => $call) {
    apcu_store('there', str_repeat('there', 1000));
    apcu_store('also', 1);
    apcu_store('count', 0);
    kill_writer();
    // In a child, since it may hang.
    await(child(fn () => $call() || error_log("wrong answer of the first call, $name")), "the first call, $name,");
    if (emptied() !== ++$lines) {
        fail("the log has not one line more after the first call, $name");
    }
    if (!apcu_store('after', $name) || apcu_fetch('after') !== $name) {
        fail("the cache does not work after the first call, $name");
    }
}
echo count($calls), " kinds of calls each found the cache empty after a writer's death, and said so once\n";

// A reader copies a value out of the cache, without the cache's lock, when a writer dies. It has to get the whole of it: who
// empties the cache waits for it. The value has an object of a class that the reader does not know: unserialize() calls
// `unserialize_callback_func` for it before it reads the string that comes next.
$long = str_repeat('long', 100000);
await(child(function () use ($long) {
    eval('class Unknown {}');
    apcu_store('slow', [new Unknown(), $long]);
}), 'the one that stores');
$reader = start(function ($ready) use ($long) {
    $GLOBALS['slowly'] = function () use ($ready) {
        $ready();
        usleep(500000);
    };
    function slowly()
    {
        $GLOBALS['slowly']();
    }
    ini_set('unserialize_callback_func', 'slowly');
    $read = @apcu_fetch('slow');
    if (!is_array($read) || $read[1] !== $long) {
        error_log('a reader did not get the whole value');
    }
});
kill_writer();
$other = child(function () use ($long) {
    for ($key = 0; $key < 60; $key++) {
        apcu_store("other-$key", strrev($long));
    }
});
await($reader, 'a reader that copies a value');
await($other, 'the one that empties the cache beside a reader');
if (emptied() !== ++$lines) {
    fail('the log has not one line more after a reader and the death of a writer');
}
echo "a reader read the whole of a value while a writer died\n";

// Everything at once: processes that are killed at random moments, some of them shortly after another, while the cache is being
// emptied.
function value(int $key, int $number): mixed
{
    $text = "$key:$number:" . str_repeat(chr(65 + $number % 26), $number % 1000);
    return match ($number % 3) {
        0 => $text,
        1 => ['key' => $key, 'number' => $number, 'text' => $text, 'list' => range(0, $number % 100)],
        2 => (object) ['key' => $key, 'number' => $number, 'text' => [$text, $text]],
    };
}

function check(int $key, mixed $value): void
{
    $number = match (true) {
        is_string($value) => (int) (explode(':', $value, 3)[1] ?? -1),
        is_array($value) => $value['number'] ?? -1,
        is_object($value) => $value->number ?? -1,
        default => -1,
    };
    if ($number < 0 || $value != value($key, $number)) {
        error_log("wrong value of key $key: " . substr(var_export($value, true), 0, 200));
    }
}

function work(): void
{
    $stop = false;
    pcntl_async_signals(true);
    pcntl_signal(SIGTERM, function () use (&$stop) {
        $stop = true;
    });
    mt_srand(posix_getpid());
    // Stored, fetched and deleted at once, so that most of the time is spent in the cache, and many a kill comes there.
    $batches = [];
    for ($batch = 0; $batch < 20; $batch++) {
        foreach (range(1, 100) as $_) {
            $key = mt_rand(0, KEYS - 1);
            $batches[$batch]["key-$key"] = value($key, mt_rand(0, 999999));
        }
    }
    while (!$stop) {
        $key = mt_rand(0, KEYS - 1);
        $what = mt_rand(0, 999);
        $batch = $batches[array_rand($batches)];
        if ($what < 100) {
            foreach (apcu_fetch(array_keys($batch)) as $name => $value) {
                check((int) substr($name, 4), $value);
            }
        } elseif ($what < 700) {
            apcu_store($batch);
        } elseif ($what < 800) {
            apcu_delete(array_keys($batch));
        } elseif ($what < 950) {
            $count = apcu_inc("count-$key");
            // False if another process removes the count between the insertion and the addition.
            if ($count !== false && (!is_int($count) || $count < 1)) {
                error_log('wrong count: ' . var_export($count, true));
            }
        } elseif ($what < 980) {
            check($key, apcu_entry("key-$key", fn () => value($key, mt_rand(0, 999999))));
        } elseif ($what < 990) {
            apcu_cache_info();
        } elseif ($what < 998) {
            foreach (new APCUIterator('/^key-19../') as $name => $item) {
                check((int) substr($name, 4), $item['value']);
            }
        } else {
            apcu_clear_cache();
        }
    }
}

// Stores and fetches; again if the cache was cleared or emptied meanwhile.
function probe(): void
{
    for ($try = 0; $try < 20; $try++) {
        if (apcu_store('probe', 'probe') && apcu_fetch('probe') === 'probe') {
            return;
        }
    }
    error_log('the cache does not keep what is stored');
}

/** What the allocator says it has, and the sum of its free blocks. */
function memory(): array
{
    $info = apcu_sma_info();
    $free = 0;
    foreach ($info['block_lists'] as $list) {
        $free += array_sum(array_column($list, 'size'));
    }
    return [$info['avail_mem'], $free];
}

apcu_clear_cache();
[$avail, $free] = memory();
$overhead = $avail - $free;
$workers = [];
for ($worker = 0; $worker < $processes; $worker++) {
    $workers[] = child('work');
}
for ($killed = 0; $killed < $kills;) {
    usleep(random_int(0, 20000));
    // One, some or all of them.
    $burst = min([1, 3, $processes][random_int(0, 2)], $kills - $killed);
    $killed += $burst;
    foreach ((array) array_rand($workers, $burst) as $worker) {
        posix_kill($workers[$worker], SIGKILL);
        await($workers[$worker], 'a worker');
        $workers[$worker] = child('work');
        usleep(random_int(0, 1000));
    }
    await(child('probe'), "the first to store after $killed kills");
}
foreach ($workers as $worker) {
    posix_kill($worker, SIGTERM);
}
foreach ($workers as $worker) {
    await($worker, 'a worker at the end');
}
probe();
$emptied = emptied() - $lines;
if ($emptied > $kills) {
    fail("the log has $emptied lines after $kills deaths");
}

[$avail_after, $free] = memory();
if ($avail_after - $free != $overhead) {
    fail("the free blocks have $free bytes, and the allocator says $avail_after");
}
apcu_clear_cache();
for ($key = 0; $key < 1000; $key++) {
    if (!apcu_store("key-$key", value($key, $key))) {
        fail("key $key cannot be stored in the end");
    }
}
for ($key = 0; $key < 1000; $key++) {
    check($key, apcu_fetch("key-$key"));
}
emptied();
apcu_clear_cache();
$lost = $avail - memory()[0];
echo "$kills kills of $processes processes: the cache was emptied $emptied times, every value was right; ",
    "$lost bytes lost to processes that were killed while they stored\n";
unlink($log);
