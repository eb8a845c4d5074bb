"""Render the conversation, immediately if that is quick, otherwise in a thread, and copy it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.timer import Timer

from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset_lint import stability_findings
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.lint import UNREADABLE, Finding, error_finding, in_order, lint
from tokviz.chat.messages import ConversationError
from tokviz.chat.render import render
from tokviz.chat.rendering import MuchIsNewError, Rendering
from tokviz.chat.rendering_diff import RenderingDiff
from tokviz.chat.spans import CONTENT_AS_TEXT, TRANSFORMERS
from tokviz.chat.template_files import own_templates
from tokviz.errors import TokvizError
from tokviz.share.figure import mask_figure
from tokviz.text import bytetext
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.chat.editing import json_of, raw_index, repaired
from tokviz.tui.screens.chat.state import ConversationAtHand
from tokviz.tui.screens.exporting import Shown
from tokviz.tui.tasks import LatestWorker, Task
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.mask.counts import NOTHING, PartCounts, part_counts

if TYPE_CHECKING:
    from tokviz.chat.templates import ChatTemplate


QUICK_CHARS = 20_000
"""Maximum number of new characters that are encoded immediately."""
KNOWN_CHARS = 2_000_000
"""Maximum number of characters of a conversation that is rendered immediately."""
QUICK_PARTS = 100
"""Maximum number of message parts that are rendered immediately."""
TYPED_SECONDS = 0.15
"""Seconds without a key before a longer rendering starts."""
MOST_MESSAGES = 64
"""The most messages of a conversation that is also rendered turn by turn."""
LINT_SECONDS = 0.2
"""Seconds without a change before the lint starts."""


POLICY_WORDS = {TRANSFORMERS: "specials as transformers", CONTENT_AS_TEXT: "specials as text"}
"""The policies for special tokens in contents, in a few words."""


class Wanted(NamedTuple):
    """A rendering request."""

    conversation: Conversation
    variables: Mapping[str, Any]
    specials: str
    template: ChatTemplate | JinjaTemplate | None
    tokenizer: Tokenizer
    max_tokens: int


def _in_child(wanted: Wanted) -> bool:
    template = wanted.template
    return bool(template is None or template.is_remote or wanted.tokenizer.in_child)


Made = tuple[Rendering, PartCounts] | TokvizError
"""The result of a rendering: tokens and their counts, or an error."""


class RenderedConversation(Controller):
    """Render and lint the conversation after every change.

    Attributes:
        rendering: The newest tokens, None if there are none.
        counts: The token counts of messages and parts.
        problem: The error if there are no tokens.
        change: What a variable or the policy changed, if that led to the tokens.
        findings: The findings of the last lint.
        finding: The index of the current finding, -1 before the first.
    """

    _chat: ConversationAtHand
    _show: Callable[[], object]

    def set_up(self) -> None:
        """Create the other fields."""
        self.rendering: Rendering | None = None
        self.counts = NOTHING
        self.problem: TokvizError | None = None
        self.change: RenderingDiff | None = None
        self.findings: list[Finding] = []
        self.finding = -1
        self._worker = LatestWorker[Wanted](self.screen, "render")
        self._rendered: Wanted | None = None
        self._looked: Wanted | None = None
        self._once_known: list[tuple[Wanted | None, Callable[[], object]]] = []
        self._lint_timer: Timer | None = None
        self._prepared: Tokenizer | None = None
        """The tokenizer whose tables are built, so that its first text is not slow."""

    @property
    def is_waiting(self) -> bool:
        """True while the rendering of the current conversation is pending."""
        return self._worker.pending is not None

    @property
    def is_looking(self) -> bool:
        """True while the lint of the current conversation is pending."""
        return self.is_waiting or self._looked is not self._rendered

    @property
    def is_gone(self) -> bool:
        """True if a pending rendering replaces unrelated tokens, so that none are shown."""
        return self.is_waiting and self.rendering is None and self.problem is None

    def once_known(self, do: Callable[[], object]) -> None:
        """Call a function once the current conversation is rendered, to copy its tokens.

        The rendering may be pending right after the screen is opened, or with a slow template.
        """
        self._once_known.append((self._worker.pending or self._rendered, do))
        if not self.is_waiting:
            self._tell_known()

    def _tell_known(self) -> None:
        told, self._once_known = self._once_known, []
        for wanted, do in told:
            now = self._rendered
            if wanted is not None and wanted.template is None and now is not None:
                wanted = wanted._replace(template=now.template)  # those of the tokenizer were read
            if wanted == now:
                do()
            else:
                self.say("The conversation changed, so nothing was copied.", "warning")

    def refresh(self, *, typed: bool = False) -> None:
        """Render the conversation, immediately or in a thread, and show the result.

        Args:
            typed: Whether only the edited part can have changed.
        """
        chat, tokenizer = self._chat, self.session.tokenizer
        if chat.own is None and not tokenizer.folder:
            chat.own = own_templates(tokenizer)
        options = chat.state.variables, chat.policy, chat.template
        wanted = Wanted(chat.conversation, *options, tokenizer, chat.max_tokens)
        if not self._is_nearly_shown(wanted, typed):
            self.rendering, self.problem, self.counts = None, None, NOTHING
            self.findings, self.finding = [], -1
        if chat.own is None:
            # If this fails, so does a rendering with one of them.
            read, failed = partial(own_templates, tokenizer), lambda error: self._take_own({})
            self._worker.start(wanted, lambda task: read(), self._take_own, failed)
            self._show()
            return
        take = partial(self._take, wanted)
        made = self._make_at_once(wanted)
        if made is not None:
            self._worker.cancel()
            take(made)
            return

        def make(task: Task) -> Made:
            wanted.tokenizer.prepare()
            return self._make(wanted)

        # A child process drops superseded requests itself.
        waits = typed and not _in_child(wanted)
        self._worker.start(wanted, make, take, take, delay=TYPED_SECONDS if waits else 0.0)
        self._show()

    def _take_own(self, own: dict[str, ChatTemplate | JinjaTemplate]) -> None:
        self._chat.own = own
        self.refresh()

    def _make_at_once(self, wanted: Wanted) -> Made | None:
        """Render immediately, or return None if it would take too long."""
        if _in_child(wanted) or wanted.tokenizer is not self._prepared:
            return None
        messages = wanted.conversation.messages
        parts = (part for message in messages for part in message.parts)
        if next(islice(parts, QUICK_PARTS, None), None) is not None:
            return None
        n_chars = sum(len(message.text) for message in messages)
        raw = raw_index(wanted.conversation) is not None
        if n_chars > (QUICK_CHARS if raw else KNOWN_CHARS):
            return None
        try:
            return self._make(wanted, QUICK_CHARS)
        except MuchIsNewError:
            return None

    def _is_nearly_shown(self, wanted: Wanted, typed: bool) -> bool:
        """Return True if the visible tokens differ only by the last edit.

        Tokens of another template, tokenizer or row must not be shown under the new name.
        """
        known = self._rendered
        if known is None or known[3:] != wanted[3:]:
            return False
        if typed:
            return True
        before = {id(message) for message in known.conversation.messages}
        return any(id(message) in before for message in wanted.conversation.messages)

    def _make(self, wanted: Wanted, most_new: int | None = None) -> Made:
        unreadable = self._chat.unreadable
        if unreadable is not None and wanted.conversation is unreadable[0]:
            return unreadable[1]
        raw = raw_index(wanted.conversation)
        try:
            if raw is not None:
                repaired(wanted.conversation, raw)
                return ConversationError("the row can be read now")
            given = wanted.tokenizer, wanted.conversation, wanted.template, wanted.max_tokens
            variables, specials = wanted.variables, wanted.specials
            made = render(*given, most_new, variables=variables, specials=specials)
            return made, part_counts(made)
        except TokvizError as error:
            return error

    def _take(self, wanted: Wanted, made: Made) -> None:
        known, before = self._rendered, self.rendering
        self._rendered = wanted
        self._prepared = wanted.tokenizer
        if isinstance(made, TokvizError):
            self.rendering, self.problem, self.counts = None, made, NOTHING
        else:
            (self.rendering, self.counts), self.problem = made, None
        self.change = None
        if before is not None and self.rendering is not None and known is not None:
            cause = _cause(known, wanted)
            self.change = RenderingDiff.of(cause, before, self.rendering) if cause else None
        self._show()
        self._tell_known()
        # Do not lint after every key.
        if self._lint_timer is not None:
            self._lint_timer.stop()
        self._lint_timer = self.screen.set_timer(LINT_SECONDS, self.look_for_findings)

    # -- findings

    def look_for_findings(self) -> None:
        """Lint the last rendered conversation, and show the findings."""
        wanted = self._rendered
        if wanted is None or self.is_waiting:
            return
        rendering, error = self.rendering, self.problem
        if error is not None and not isinstance(error, ConversationError):
            error = ConversationError(str(error))

        def find(task: Task) -> list[Finding]:
            if error is not None and raw_index(wanted.conversation) is not None:
                return [error_finding(UNREADABLE, error)]
            conversation = wanted.conversation.with_variables(wanted.variables)
            findings = lint(conversation, rendering, error)
            is_short = len(conversation.messages) <= MOST_MESSAGES
            if isinstance(wanted.template, JinjaTemplate) and error is None and is_short:
                findings += stability_findings(wanted.tokenizer, conversation, wanted.template)
            return in_order(findings)

        def found(findings: list[Finding]) -> None:
            if wanted is self._rendered:
                self._looked = wanted
                if findings != self.findings:
                    self.findings, self.finding = findings, -1
                    self._show()

        self.in_thread("lint", find, found)


def _cause(before: Wanted, now: Wanted) -> str:
    """Name the variables, or the policy, in which two requests for a conversation differ."""
    if before.conversation is not now.conversation:
        return ""
    old, new = before.variables, now.variables
    words = [POLICY_WORDS[now.specials]] if before.specials != now.specials else []
    for name in {**old, **new}:
        if name not in new:
            words.append(f"{name} reset")
        elif old.get(name, ...) != new[name]:
            words.append(f"{name} = {fit(json.dumps(new[name], ensure_ascii=False), 24)}")
    return safe(", ".join(words))


class CopyConversation(Controller):
    """Copy the training data or the messages."""

    _chat: ConversationAtHand
    _rendered: RenderedConversation

    @action("Copy the token ids", "f4", section="Copy")
    def copy_ids(self) -> None:
        """Copy all ids as a list."""

        def copy(rendering: Rendering) -> None:
            ids = rendering.ids[: rendering.n_kept].tolist()
            self.copy(json.dumps(ids), pluralize(len(ids), "token id"))

        self._with_tokens(copy)

    @action("Copy the mask", "shift+f4", section="Copy")
    def copy_mask(self) -> None:
        """Copy the mask of all tokens as a list."""

        def copy(rendering: Rendering) -> None:
            mask = list(rendering.mask[: rendering.n_kept])
            self.copy(json.dumps(mask), f"the mask of {pluralize(len(mask), 'token')}")

        self._with_tokens(copy)

    @action("Copy the rendered text", section="Copy")
    def copy_rendered(self) -> None:
        """Copy the conversation as the template writes it, special tokens included."""

        def copy(rendering: Rendering) -> None:
            data = b"".join(map(rendering.token_bytes, range(rendering.n_kept)))
            text = bytetext.from_bytes(data)
            self.copy(text, f"{pluralize(len(text), 'character')} of rendered text")

        self._with_tokens(copy)

    @action("Copy the conversation as JSON", "alt+c", section="Copy")
    def copy_json(self) -> None:
        """Copy the messages in the shape that they were read in."""
        conversation = self._chat.conversation
        n_messages = len(conversation.messages)
        text = json_of(conversation, indent=2)
        self.copy(text, f"{pluralize(n_messages, 'message')} as JSON")

    def shown(self) -> Shown:
        """Return the content to export: the tokens with their mask."""
        rendering, path = self._rendered.rendering, self._chat.state.origin.path
        if self._rendered.is_waiting:
            return "The tokens are not ready yet. Export them when they are."
        if rendering is None:
            return "There are no tokens to export."
        name = path.name if path else "conversation"
        return name, lambda: mask_figure(name, rendering)

    def _with_tokens(self, do: Callable[[Rendering], None]) -> None:
        """Call a function with the tokens once they are available; report if there are none."""

        def known() -> None:
            rendering, problem = self._rendered.rendering, self._rendered.problem
            if rendering is not None:
                do(rendering)
            else:
                why = "." if problem is None else f": {problem}"
                self.say(f"There are no tokens to copy{why}", "warning")

        self._rendered.once_known(known)
