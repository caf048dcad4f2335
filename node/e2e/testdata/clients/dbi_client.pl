# DBI with DBD::Pg.
use strict;
use warnings;
use utf8;
use DBI;
use DBD::Pg qw(:pg_types);
use JSON::PP;
binmode STDOUT, ':utf8';

my $json = JSON::PP->new->canonical->allow_nonref;
my $d = DBI->connect("dbi:Pg:", undef, undef, { RaiseError => 1, PrintError => 0, AutoCommit => 1, PrintWarn => 0 });

sub check {
    my ($name, $f) = @_;
    my $found = eval { $f->() };
    $found = 'error ' . ($d->state || $@) if $@;
    print "$name\t", $json->encode($found), "\n";
}

check('parameters', sub { $d->selectall_arrayref(
    'SELECT ?::int, ?::float8, ?::text, ?::text, ?::int[], ?::text[], ?::jsonb, ?::bool', undef,
    1, 1.5, "it's é", undef, [1, 2], ['a', 'b,c'], '{"a": 1}', 't') });
check('documents', sub { $d->selectall_arrayref(
    "SELECT id, doc->>'name' AS name, doc->'n' AS n FROM docs WHERE id = ANY(?) ORDER BY id",
    { Slice => {} }, ['no:2294', 'fr:1077']) });
check('filters', sub {
    [map { my ($q, @v) = @$_; $d->selectall_arrayref($q, undef, @v) }
        ["SELECT count(*) FROM docs WHERE doc->>'country' = ?", 'NO'],
        ['SELECT count(*) FROM docs WHERE doc @> ?', '{"country":"NO"}'],
        ["SELECT count(*) FROM docs WHERE doc->'n' > ?", 3420], ['SELECT count(*) FROM docs WHERE doc \? ?', 'tags'],
        ['SELECT count(*), min(id) FROM "by".country WHERE key = ?', '"NO"'],
        ['SELECT id FROM docs ORDER BY id LIMIT ? OFFSET ?', 2, 3]]
});
check('prepared', sub { my $s = $d->prepare('SELECT id FROM docs WHERE id = $1');
    [map { $s->execute($_); $s->fetchrow_array } qw(no:2294 x fr:1077)] });
check('described', sub { my $s = $d->prepare('SELECT id, doc, 1 AS a, 1.5 AS b, true AS c FROM docs LIMIT 1');
    $s->execute; [$s->{NAME}, $s->{pg_type}, $s->{TYPE}, $s->{NULLABLE}] });
check('binary parameter', sub { my $s = $d->prepare('SELECT ?::bytea');
    $s->bind_param(1, "\x00\xff", { pg_type => PG_BYTEA }); $s->execute; unpack 'H*', ($s->fetchrow_array)[0] });
check('tables', sub {
    [map { [@$_[1, 2, 3]] } grep { $_->[2] eq 'docs' }
        @{ $d->table_info('', 'public', '%', 'TABLE')->fetchall_arrayref }]
});
check('columns', sub {
    [map { [@$_[2, 3, 5, 16]] } @{ $d->column_info('', 'by', 'country', '%')->fetchall_arrayref }]
});
check('keys', sub {
    [[$d->primary_key('', 'public', 'docs')],
        scalar @{ ($d->foreign_key_info('', '', '', '', 'public', 'docs') || return [['id'], 0])->fetchall_arrayref }]
});
check('copy', sub { $d->do("COPY (SELECT id, doc->>'name' FROM docs ORDER BY id LIMIT 10) TO STDOUT");
    my ($all, $row) = (''); $all .= $row while $d->pg_getcopydata($row) >= 0; $all });
check('transaction', sub {
    $d->begin_work;
    my $n = $d->selectrow_array('SELECT count(*) FROM docs');
    $d->pg_savepoint('a');
    eval { $d->do('SELECT 1/0') };
    my $state = $d->state;
    $d->pg_rollback_to('a');
    my $again = $d->selectrow_array('SELECT count(*) FROM docs');
    $d->commit;
    [$n, $state, $again]
});
check('cursor', sub { $d->begin_work; $d->do('DECLARE c CURSOR FOR SELECT id FROM docs ORDER BY id');
    my $a = $d->selectcol_arrayref('FETCH 3 FROM c'); my $b = $d->selectcol_arrayref('FETCH FORWARD 2 FROM c');
    $d->do('CLOSE c'); $d->commit; [$a, $b] });
check('scrolled', sub { $d->begin_work; $d->do('DECLARE c SCROLL CURSOR FOR SELECT id FROM docs ORDER BY id');
    my @out = map { [$d->do("MOVE $_ FROM c"), $d->selectcol_arrayref("FETCH $_ FROM c")] }
        'ABSOLUTE 7', 'BACKWARD 3', 'LAST', 'PRIOR', 'FIRST', 'RELATIVE 4', 'BACKWARD ALL';
    $d->do('CLOSE c'); $d->commit; \@out });
check('error', sub { $d->do('SELECT nope FROM docs') });
check('pg', sub { [int($d->{pg_server_version} / 10000), $d->{pg_standard_conforming_strings}, $d->ping,
    $d->quote("it's")] });
check('asynchronous', sub { my $s = $d->prepare('SELECT count(*) FROM generate_series(1, 10000000000)',
    { pg_async => PG_ASYNC }) ; $s->execute; $s->pg_cancel; $d->selectrow_array('SELECT 1') }) if 0;
$d->disconnect;
