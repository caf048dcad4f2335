<?php
// What PDO's pgsql driver and php-pgsql's functions write.
$dsn = sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('PGHOST'), getenv('PGPORT'), getenv('PGDATABASE'));
$d = new PDO($dsn, getenv('PGUSER'), getenv('PGPASSWORD') ?: null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$pg = pg_connect(sprintf('host=%s port=%s dbname=%s user=%s password=%s', getenv('PGHOST'), getenv('PGPORT'),
    getenv('PGDATABASE'), getenv('PGUSER'), getenv('PGPASSWORD')));

function check(string $name, callable $f) {
    try {
        $found = $f();
    } catch (PDOException $e) {
        $found = 'error ' . $e->getCode();
    }
    echo $name, "\t", json_encode($found, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES), "\n";
}
function stored(string $like = '%') {
    global $d;
    $s = $d->prepare("SELECT id, doc - '_id' - '_rev' FROM docs WHERE id LIKE ? ORDER BY id");
    $s->execute([$like]);
    return $s->fetchAll(PDO::FETCH_NUM);
}

foreach ([false, true] as $emulate) {
    $p = $emulate ? 'emulated ' : '';
    $d->setAttribute(PDO::ATTR_EMULATE_PREPARES, $emulate);
    check($p . 'insert', function () use ($d) {
        $s = $d->prepare('INSERT INTO docs (id, doc) VALUES (:id, :doc) RETURNING id');
        $s->execute(['id' => 'a', 'doc' => '{"s": "it\'s é"}']);
        return [$s->rowCount(), $s->fetchAll(PDO::FETCH_ASSOC), $d->exec("INSERT INTO docs (id) VALUES ('b'), ('c')"),
            stored()];
    });
    check($p . 'update', function () use ($d) {
        $s = $d->prepare("UPDATE docs SET doc = jsonb_set(doc, '{n}', to_jsonb(?::int)) WHERE id <> ?");
        $s->execute([5, 'a']);
        $x = $d->prepare('DELETE FROM docs WHERE id = ?');
        $x->execute(['c']);
        return [$s->rowCount(), $x->rowCount(), stored()];
    });
    check($p . 'transaction', function () use ($d) {
        $d->beginTransaction();
        $d->exec("INSERT INTO docs (id) VALUES ('t1')");
        $in = $d->inTransaction();
        $d->rollBack();
        $d->beginTransaction();
        $d->exec("INSERT INTO docs (id) VALUES ('t2')");
        $d->commit();
        return [$in, stored('t%')];
    });
    check($p . 'duplicate', fn() => $d->exec("INSERT INTO docs (id) VALUES ('a')"));
    check($p . 'copy', fn() => [$d->pgsqlCopyFromArray('docs', ["k1\t{}\n", "k2\t{\"k\": 2}\n"], "\t", '\\\\N',
        'id, doc'), stored('k%')]);
    check($p . 'all gone', fn() => $d->exec('DELETE FROM docs'));
}
check('pg_insert', fn() => [pg_affected_rows(pg_query_params($pg, 'INSERT INTO docs (id, doc) VALUES ($1, $2)',
    ['g', '{"g": 1}'])), pg_insert($pg, 'docs', ['id' => 'h', 'doc' => '{"h": 1}']) !== false,
    pg_update($pg, 'docs', ['doc' => '{"h": 2}'], ['id' => 'h']), pg_delete($pg, 'docs', ['id' => 'g']),
    pg_copy_from($pg, 'docs (id, doc)', ["i\t{}\n"]), stored()]);
