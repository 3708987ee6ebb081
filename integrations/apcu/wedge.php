<?php
// apcu#632: readers of the cache are killed (-9) one after the other, mostly inside, and after each of them a writer has 5
// seconds to store something. Ends with 1, and says so, when a writer does not come through.
//
//     php -d extension=apcu.so -d apc.enable_cli=1 wedge.php [READERS]

$readers = (int) ($argv[1] ?? 50);
for ($key = 0; $key < 20000; $key++) {
    apcu_store("key-$key", $key);
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

for ($killed = 1; $killed <= $readers; $killed++) {
    $reader = child(function () {
        while (true) {
            apcu_cache_info(); // a list of all entries, made as a reader
        }
    });
    usleep(random_int(20000, 60000));
    posix_kill($reader, SIGKILL);
    pcntl_waitpid($reader, $status);

    $writer = child(fn () => apcu_store('written', $killed));
    $until = microtime(true) + 5;
    while (pcntl_waitpid($writer, $status, WNOHANG) === 0) {
        if (microtime(true) > $until) {
            posix_kill($writer, SIGKILL);
            pcntl_waitpid($writer, $status);
            echo "WEDGED: after $killed killed readers a writer has waited for 5 seconds\n";
            exit(1);
        }
        usleep(1000);
    }
    $written = apcu_fetch('written');
    if ($written !== $killed) {
        echo "WRONG: after $killed killed readers the cache says " . var_export($written, true) . "\n";
        exit(1);
    }
}
echo "$readers readers killed, and a writer came through after each\n";
