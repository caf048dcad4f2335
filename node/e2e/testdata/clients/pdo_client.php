<?php
// PDO's pgsql driver, and php-pgsql's functions.
$dsn = sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('PGHOST'), getenv('PGPORT'), getenv('PGDATABASE'));
$d = new PDO($dsn, getenv('PGUSER'), getenv('PGPASSWORD') ?: null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);

function check(string $name, callable $f) {
    try {
        $found = $f();
    } catch (PDOException $e) {
        $found = 'error ' . $e->getCode() . ' ' . ($e->errorInfo[0] ?? '');
    }
    echo $name, "\t", json_encode($found, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES), "\n";
}
function all(PDO $d, string $q, array $v = [], int $how = PDO::FETCH_NUM) {
    $s = $d->prepare($q);
    $s->execute($v);
    return $s->fetchAll($how);
}

check('parameters', fn() => all($d, 'SELECT ?::int, ?::float8, ?::text, ?::text, ?::jsonb, ?::bool',
    [1, 1.5, "it's é", null, '{"a": "b"}', 'true']));
check('typed parameters', function () use ($d) {
    $s = $d->prepare('SELECT :i::int + 1 AS i, :b::bool AS b, :n::text AS n, :l::bytea AS l');
    $s->bindValue('i', 5, PDO::PARAM_INT); $s->bindValue('b', true, PDO::PARAM_BOOL);
    $s->bindValue('n', null, PDO::PARAM_NULL); $s->bindValue('l', "\x00\xff", PDO::PARAM_LOB);
    $s->execute();
    $r = $s->fetch(PDO::FETCH_ASSOC);
    $r['l'] = bin2hex(is_resource($r['l']) ? stream_get_contents($r['l']) : $r['l']);
    return $r;
});
check('documents', fn() => all($d,
    "SELECT id, doc->>'name' AS name, doc->'n' AS n FROM docs WHERE id IN (?, ?) ORDER BY id", ['no:2294', 'fr:1077'],
    PDO::FETCH_ASSOC));
check('filters', fn() => array_map(fn($q) => all($d, $q[0], $q[1]), [
    ["SELECT count(*) FROM docs WHERE doc->>'country' = ?", ['NO']],
    ['SELECT count(*) FROM docs WHERE doc @> ?', ['{"country":"NO"}']],
    ["SELECT count(*) FROM docs WHERE doc->'n' > ?", [3420]], ['SELECT count(*) FROM docs WHERE doc ?? ?', ['tags']],
    ['SELECT count(*), min(id) FROM "by".country WHERE key = :k', ['k' => '"NO"']],
    ['SELECT id FROM docs ORDER BY id LIMIT ? OFFSET ?', [2, 3]]]));
check('emulated', function () use ($d) {
    $s = $d->prepare("SELECT count(*) FROM docs WHERE doc->>'country' = ?", [PDO::ATTR_EMULATE_PREPARES => true]);
    $s->execute(['NO']);
    return $s->fetchAll(PDO::FETCH_NUM);
});
check('metadata', function () use ($d) {
    $s = $d->query('SELECT id, doc, 1 AS a, true AS b FROM docs LIMIT 1');
    $s->fetch();
    return array_map(fn($i) => array_intersect_key($s->getColumnMeta($i),
        ['native_type' => 1, 'name' => 1, 'pdo_type' => 1, 'pgsql:oid' => 1]), range(0, 3));
});
check('cursor', function () use ($d) {
    $d->beginTransaction();
    $s = $d->prepare('SELECT id FROM docs ORDER BY id LIMIT 10', [PDO::ATTR_CURSOR => PDO::CURSOR_FWDONLY]);
    $s->execute();
    $out = [];
    while ($r = $s->fetch(PDO::FETCH_NUM)) $out[] = $r[0];
    $d->commit();
    return $out;
});
check('scrolled', function () use ($d) {
    $d->beginTransaction();
    try {
        $s = $d->prepare('SELECT id FROM docs ORDER BY id LIMIT 10', [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
        $s->execute();
        return [$s->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_NEXT), $s->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_LAST),
            $s->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_PRIOR), $s->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_ABS, 2)];
    } finally {
        $d->rollBack();
    }
});
check('transaction', function () use ($d) {
    $d->beginTransaction();
    $n = all($d, 'SELECT count(*) FROM docs');
    $d->exec('SAVEPOINT a');
    try { $d->query('SELECT 1/0'); } catch (PDOException $e) { $code = $e->getCode(); }
    $d->exec('ROLLBACK TO a');
    $again = all($d, 'SELECT count(*) FROM docs');
    return [$n, $code, $again, $d->commit()];
});
check('copy', fn() => $d->pgsqlCopyToArray('(SELECT id, rev IS NULL FROM docs ORDER BY id LIMIT 3)'));
check('error', fn() => $d->query('SELECT nope FROM docs'));
check('notification', fn() => $d->pgsqlGetNotify(PDO::FETCH_ASSOC, 0));
check('attributes', fn() => [(int) $d->getAttribute(PDO::ATTR_SERVER_VERSION), $d->quote("it's"),
    $d->pgsqlGetPid() > 0]);

$c = pg_connect(sprintf('host=%s port=%s dbname=%s user=%s%s', getenv('PGHOST'), getenv('PGPORT'), getenv('PGDATABASE'),
    getenv('PGUSER'), getenv('PGPASSWORD') ? ' password=' . getenv('PGPASSWORD') : ''));
check('pg_query_params', fn() => pg_fetch_all(pg_query_params($c, 'SELECT id FROM docs WHERE id = $1', ['no:2294'])));
check('pg_meta_data', fn() => pg_meta_data($c, 'docs'));
check('pg_field_type', fn() => [pg_field_type($r = pg_query($c, 'SELECT id, doc, now() FROM docs LIMIT 1'), 0),
    pg_field_type($r, 1), pg_field_type($r, 2)]);
check('pg_copy_to', fn() => pg_copy_to($c, '(SELECT id FROM docs ORDER BY id LIMIT 2)'));
check('pg_select', fn() => pg_select($c, 'docs', ['id' => 'no:2294']) ? 'row' : 'none');
