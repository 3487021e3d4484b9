"""Labels form a join-semilattice, and nothing but redaction lowers one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policies.labels import PUBLIC, Label, Level, Sensitivity, join, may_read
from policies.zones import Addresses, Zone

compartments = st.frozensets(st.sampled_from(["family", "work", "health"]))
marks = st.builds(Sensitivity, st.sampled_from(Level), compartments)
labels = st.builds(Label, marks, st.none() | marks)
zones = st.builds(
    Zone, st.just("zone"), marks, st.just(Addresses(frozenset({"any"}))), st.none() | st.sampled_from(Level)
)


@given(labels, labels, labels)
def test_join_is_associative(one: Label, two: Label, three: Label) -> None:
    assert (one | two) | three == one | (two | three)


@given(labels, labels)
def test_join_is_commutative(one: Label, two: Label) -> None:
    assert one | two == two | one


@given(labels)
def test_join_is_idempotent_and_public_changes_nothing(label: Label) -> None:
    assert label | label == label
    assert label | PUBLIC == label


@given(labels, labels)
def test_join_is_the_least_label_that_is_at_least_both(one: Label, two: Label) -> None:
    both = one | two

    assert one <= both
    assert two <= both
    assert (one <= two) == (both == two)


@given(labels, labels, labels)
def test_join_is_monotone(low: Label, other: Label, high: Label) -> None:
    high |= low

    assert low | other <= high | other


@given(st.lists(labels))
def test_no_part_of_a_text_lowers_the_whole(parts: list[Label]) -> None:
    whole = join(parts)

    assert all(part <= whole for part in parts)
    assert all(whole.level >= part.level for part in parts)
    assert all(whole.compartments >= part.compartments for part in parts)


@given(labels, labels)
def test_the_order_is_antisymmetric(one: Label, two: Label) -> None:
    assert (one <= two and two <= one) == (one == two)


@given(labels)
def test_a_label_survives_being_written(label: Label) -> None:
    assert Label.parse(str(label)) == label


@given(labels, labels)
def test_redaction_keeps_what_was_there_as_a_mark(before: Label, scanned: Label) -> None:
    after = before.after_redaction(scanned)

    assert after.plain == scanned.plain
    assert after.level >= before.level
    assert after.compartments >= before.compartments


@given(zones, labels, labels)
def test_what_a_zone_refuses_it_refuses_of_every_higher_label(zone: Zone, low: Label, other: Label) -> None:
    if zone.admits(low | other):
        assert zone.admits(low)
        assert zone.admits(other)


@given(zones, labels)
def test_a_zone_admits_no_plain_text_above_its_clearance(zone: Zone, label: Label) -> None:
    if zone.admits(label):
        assert label.plain.level <= zone.clearance.level
        assert not zone.clearance.compartments or label.compartments <= zone.clearance.compartments


@given(zones, labels)
def test_redacted_text_above_the_clearance_needs_a_zone_that_accepts_it(zone: Zone, label: Label) -> None:
    if zone.admits(label) and label.level > zone.clearance.level:
        assert zone.accept_redacted is not None
        assert label.level <= zone.accept_redacted


@given(marks, labels, labels)
def test_a_reader_who_may_not_see_a_part_may_not_see_the_whole(clearance: Sensitivity, one: Label, two: Label) -> None:
    assert may_read(clearance, one | two) == (may_read(clearance, one) and may_read(clearance, two))
