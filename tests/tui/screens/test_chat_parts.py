"""The parts of the Chat screen that need no app: changes of a conversation, and undo."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import Message, Part
from tokviz.chat.render import render
from tokviz.errors import OutputFileError
from tokviz.tui.screens.chat import editing
from tokviz.tui.screens.chat.files import append_line
from tokviz.tui.screens.chat.state import History, State
from tokviz.tui.widgets.conversation.rows import PartPlace
from tokviz.tui.widgets.mask.counts import part_counts, roles_rows

PARTS = (Part("text", "look"), Part("python", "1+1"), Part("python_output", "2"))
CONVERSATION = Conversation((Message("user", "Hi"), Message("assistant", PARTS)))


def texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation.messages]


# -- changes


def test_the_text_of_one_part_changes_and_nothing_else() -> None:
    changed = editing.with_text(CONVERSATION, PartPlace(1, 1), "2+2")
    assert [part.text for part in changed.messages[1].parts] == ["look", "2+2", "2"]
    assert changed.messages[0] is CONVERSATION.messages[0]
    assert CONVERSATION.messages[1].parts == PARTS


def test_text_typed_into_a_message_without_parts_becomes_its_part() -> None:
    empty = Conversation((Message("assistant", ()),))
    assert editing.text_at(empty, PartPlace(0)) == ""
    assert editing.with_text(empty, PartPlace(0), "x").messages[0].parts == (Part("text", "x"),)


def test_a_new_part_turns_a_text_into_parts_and_deleting_it_turns_it_back() -> None:
    with_part = editing.with_new_part(CONVERSATION, PartPlace(0), "python")
    assert with_part.messages[0].content == (Part("text", "Hi"), Part("python", ""))
    assert editing.without_part(with_part, PartPlace(0, 1)).messages[0] == Message("user", "Hi")


FIELD_VALUES = st.one_of(
    st.text(max_size=9), st.integers(), st.booleans(), st.floats(allow_nan=False),
    st.lists(st.dictionaries(st.text(max_size=3), st.integers(), max_size=2), max_size=2),
)  # fmt: skip
MESSAGE_KEYS = st.sampled_from(["reasoning_content", "tool_call_id", "name", "weight", "score"])
EXTRAS = st.dictionaries(MESSAGE_KEYS, FIELD_VALUES, max_size=4)
CALLS = st.fixed_dictionaries(
    {"id": st.text(min_size=1, max_size=4), "function": st.just({"name": "f", "arguments": {}})}
)


@st.composite
def conversations_with_fields(draw: st.DrawFn) -> Conversation:
    """Generate conversations with all kinds of fields."""
    messages = []
    for _ in range(draw(st.integers(1, 3))):
        role = draw(st.sampled_from(["user", "assistant", "tool"]))
        calls = {"tool_calls": draw(st.lists(CALLS, max_size=2))} if role == "assistant" else {}
        messages.append({"role": role, "content": draw(st.text()), **draw(EXTRAS), **calls})
    keys = st.sampled_from(["tools", "documents", "chat_template_kwargs", "system", "source"])
    beside = draw(st.dictionaries(keys, FIELD_VALUES, max_size=3))
    return Conversation.from_json({"messages": messages, **beside})


@given(conversations_with_fields(), FIELD_VALUES)
def test_every_field_is_a_text_that_is_read_back_exactly(
    conversation: Conversation, other: object
) -> None:
    n_fields = 0
    for index, message in enumerate(conversation.messages):
        n_parts = len(message.parts)
        for number in range(len(editing.fields(conversation, index))):
            place = PartPlace(index, n_parts + number)
            text = editing.text_at(conversation, place)
            same = editing.with_text(conversation, place, text)
            assert same == conversation
            assert same.to_json() == conversation.to_json()
            changed = editing.with_text(conversation, place, text + " ")
            assert editing.with_text(changed, place, text).to_json() == conversation.to_json()
            typed = editing.field_text(other)
            edited = editing.with_text(conversation, place, typed)
            assert editing.text_at(edited, place) == typed
            gone = editing.without_part(conversation, place)
            assert len(editing.fields(gone, index)) == len(editing.fields(conversation, index)) - 1
            n_fields += 1
    shown = {"reasoning_content", "tool_call_id", "name", "weight", "tools", "documents"}
    extras = [message.extra for message in conversation.messages]
    assert n_fields >= sum(key in shown for extra in [*extras, conversation.extra] for key in extra)


def test_json_that_is_being_typed_is_kept_as_it_is() -> None:
    conversation = Conversation((Message("assistant", "a", {"weight": 0}),))
    place = PartPlace(0, 1)
    for typed in ("", "-", "null", '"', "[1,", "1"):
        conversation = editing.with_text(conversation, place, typed)
        assert editing.text_at(conversation, place) == typed
    assert conversation.messages[0].extra["weight"] == 1


@pytest.mark.parametrize("key", editing.NEW_FIELDS)
def test_a_field_is_added_where_it_belongs(key: str) -> None:
    changed, place = editing.with_new_field(CONVERSATION, PartPlace(0), key)
    field = editing.field_at(changed, place)
    assert field is not None and field.key == key
    assert ("tools" in changed.extra) == (key == "tools")
    assert editing.with_new_field(changed, place, key) == (changed, place)


def test_tools_are_not_counted_as_the_users_text() -> None:
    tools = [{"type": "function", "function": {"name": "add", "description": "x " * 200}}]
    value = {"messages": [{"role": "user", "content": "Hi"}], "tools": tools}
    rendering = render(tokviz.load("gpt2"), Conversation.from_json(value), "qwen")
    rows = roles_rows(rendering, ["user"], part_counts(rendering), 60)
    words = ["".join(span.text for span in row).split() for row in rows]
    n_tokens = {row[0]: int(row[1].replace(",", "")) for row in words[1:4]}
    assert n_tokens == {"template": len(rendering) - 1, "user": 1, "all": len(rendering)}


def test_another_role_forgets_the_name_that_a_file_had_for_the_old_one() -> None:
    message = Message("assistant", "Hi", {"from": "bing", "weight": 1})
    changed = editing.with_role(Conversation((message,)), 0, "user").messages[0]
    assert (changed.role, changed.extra) == ("user", {"weight": 1})


def test_roles_alternate_where_a_message_is_added() -> None:
    assert editing.next_role(CONVERSATION, -1) == "user"
    assert editing.next_role(CONVERSATION, 0) == "assistant"
    assert editing.next_role(CONVERSATION, 1) == "user"
    assert editing.roles_to_add(CONVERSATION)[0] == "user"
    assert editing.roles_to_add(Conversation(CONVERSATION.messages[:1]))[0] == "assistant"


def test_what_usually_follows_a_part_is_offered() -> None:
    assert editing.kind_behind("python") == "python_output"
    assert editing.kind_behind("python_output") == "text"


@given(st.integers(-5, 9), st.integers(-5, 9))
def test_a_place_that_is_gone_becomes_the_nearest_there_is(message: int, part: int) -> None:
    place = editing.place_in(CONVERSATION, PartPlace(message, part))
    assert place is not None
    assert editing.text_at(CONVERSATION, place) in {"Hi", "look", "1+1", "2"}
    assert editing.place_in(Conversation(()), PartPlace(message, part)) is None


def test_moving_a_message_changes_places_with_its_neighbour() -> None:
    assert texts(editing.moved(CONVERSATION, 0, 1)) == texts(CONVERSATION)[::-1]
    assert editing.moved(editing.moved(CONVERSATION, 0, 1), 1, -1) == CONVERSATION


# -- undo


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def state(text: str) -> State:
    return State(Conversation((Message("user", text),)), "nanochat", place=PartPlace(0))


def text_of(history: History) -> str:
    return history.state.conversation.messages[0].text


def typed(history: History, text: str) -> None:
    history.record(state(text), run=PartPlace(0), n_chars=len(text))


def test_typing_without_a_pause_is_one_step() -> None:
    clock = Clock()
    history = History(state(""), clock)
    for text in ("a", "ab", "abc"):
        typed(history, text)
        clock.now += 0.1
    clock.now += 5
    typed(history, "abcd")
    history.undo()
    assert text_of(history) == "abc"
    history.undo()
    assert text_of(history) == ""
    assert not history.undo()
    history.redo()
    assert text_of(history) == "abc"


def test_a_change_of_another_kind_ends_the_step_of_typing() -> None:
    history = History(state(""), Clock())
    typed(history, "a")
    history.record(state("loaded"))
    typed(history, "loaded!")
    history.undo()
    assert text_of(history) == "loaded"
    history.undo()
    assert text_of(history) == "a"


def test_what_was_undone_cannot_be_done_again_after_a_change() -> None:
    history = History(state("a"), Clock())
    history.record(state("b"))
    history.undo()
    history.record(state("c"))
    assert not history.redo()
    assert text_of(history) == "c"


def test_typing_after_an_undo_is_a_step_of_its_own() -> None:
    history = History(state(""), Clock())
    typed(history, "a")
    history.record(state("b"))
    history.undo()
    typed(history, "ax")
    history.undo()
    assert text_of(history) == "a"


def test_undo_holds_a_bounded_amount_of_text() -> None:
    history = History(state(""), Clock())
    for number in range(20):
        history.record(state(str(number)), n_chars=10_000_000)
    steps = 0
    while history.undo():
        steps += 1
    assert 1 <= steps <= 7


def test_a_state_that_was_only_looked_at_is_passed_over() -> None:
    history = History(state("mine"), Clock())
    history.record(state("row 1"))
    history.record(state("row 2"), instead=True)
    history.undo()
    assert text_of(history) == "mine"


# -- appending


def test_a_line_is_appended_to_a_file_that_lacks_its_last_newline(tmp_path) -> None:
    path = tmp_path / "some.jsonl"
    append_line(path, b"1")
    path.write_bytes(b"1\n2")
    append_line(path, b"3")
    assert path.read_bytes() == b"1\n2\n3\n"


def test_why_nothing_can_be_appended_is_told_in_our_words(tmp_path) -> None:
    with pytest.raises(OutputFileError, match="its folder does not exist"):
        append_line(tmp_path / "no" / "rows.jsonl", b"1")
