<?php
/* turnlock_vfs in PHP, as its README says to switch it on: by the class SQLite3, and from then on by PDO as well. */

(new SQLite3(':memory:'))->loadExtension('turnlock_vfs.so');

$path = tempnam(sys_get_temp_dir(), 'turnlock-php-');
$plain = new SQLite3($path);
$plain->busyTimeout(5000);
$plain->exec('PRAGMA journal_mode=WAL; CREATE TABLE entries (who, row)');
$pdo = new PDO("sqlite:$path", options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);

$failed = 0;
foreach ([[$plain, 'SQLite3'], [$pdo, 'PDO']] as [$database, $who]) {
    $database->exec('BEGIN IMMEDIATE');
    $database->exec("INSERT INTO entries VALUES ('$who', 0)");
    exec('turnlock status --json ' . escapeshellarg("$path-turnlock"), $lines, $status);
    $holders = $status === 0 ? json_decode(implode($lines))->locks[0]->holders : [];
    if (count($holders) !== 1 || $holders[0]->pid !== getmypid()) {
        echo "$who: this process has no turn\n";
        $failed = 1;
    }
    $lines = [];
    $database->exec('COMMIT');
}
if ($plain->querySingle('SELECT count(*) FROM entries') !== 2) {
    echo "what was written is not there\n";
    $failed = 1;
}
$plain->close();
$pdo = $database = null;
if (file_exists("$path-turnlock")) {
    echo "the lock file is still there\n";
    $failed = 1;
}
unlink($path);
exit($failed);
