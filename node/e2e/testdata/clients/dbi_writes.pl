# What DBD::Pg writes.
use strict;
use warnings;
use utf8;
use DBI;
use JSON::PP;
binmode STDOUT, ':utf8';

my $json = JSON::PP->new->canonical->allow_nonref;
my $d = DBI->connect("dbi:Pg:", undef, undef, { RaiseError => 1, PrintError => 0, AutoCommit => 1, PrintWarn => 0 });

sub check {
    my ($name, $f) = @_;
    my $found = eval { $f->() };
    $found = 'error ' . ($d->state || $@) if $@;
    print "$name\t", $json->encode($found), "\n";
    $d->rollback unless $d->{AutoCommit};
}
sub stored { $d->selectall_arrayref("SELECT id, doc - '_id' - '_rev' FROM docs WHERE id LIKE ? ORDER BY id", undef,
    shift // '%') }

check('do', sub { [$d->do('INSERT INTO docs (id, doc) VALUES (?, ?)', undef, 'a', '{"s": "it\'s é"}'),
    $d->do('UPDATE docs SET doc = doc || ?', undef, '{"n": 1}'), $d->do("DELETE FROM docs WHERE id = 'no'"),
    stored()] });
check('returning', sub { $d->selectall_arrayref(
    "INSERT INTO docs (id, doc) VALUES ('b', '{}'), ('c', '{}') RETURNING id, rev IS NOT NULL") });
check('execute_array', sub {
    my $s = $d->prepare('INSERT INTO docs (id, doc) VALUES (?, ?)');
    my $n = $s->execute_array({ ArrayTupleStatus => \my @status }, ['m1', 'm2', 'm3'], '{"m": 1}');
    [$n, \@status, stored('m%')];
});
check('transaction', sub {
    $d->begin_work;
    $d->do("INSERT INTO docs (id) VALUES ('t1')");
    $d->pg_savepoint('p');
    eval { $d->do("INSERT INTO docs (id) VALUES ('t1')") };
    my $code = $d->state;
    $d->pg_rollback_to('p');
    $d->pg_release('p');
    $d->commit;
    $d->begin_work;
    $d->do('DELETE FROM docs');
    $d->rollback;
    [$code, stored('t%')];
});
check('copy', sub {
    $d->do('COPY docs (id, doc) FROM STDIN');
    $d->pg_putcopydata("k$_\t{\"k\": $_}\n") for 1 .. 3;
    $d->pg_putcopyend;
    stored('k%');
});
check('duplicate', sub { $d->do("INSERT INTO docs (id) VALUES ('a')") });
check('null', sub { $d->do("INSERT INTO docs (id, doc) VALUES ('n', ?)", undef, undef) });
