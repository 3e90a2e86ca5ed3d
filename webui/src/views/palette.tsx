// The command palette: finds commands and nodes by a few letters of their names.

import { useDeferredValue, useId, useMemo, useRef, useState } from 'react';
import type { GraphNode } from '../api/types';
import { fuzzyScore } from '../base/fuzzy';
import { followEvidence } from '../state/incidents';
import { useDiagnosis } from '../state/queries';
import { useRouter } from '../state/router';
import { revealNode } from '../state/scopes';
import { useSearch } from '../state/search';
import { showOverlay, touch, useUi } from '../state/ui';
import { Dialog } from '../widgets/dialog';
import { FullName } from '../widgets/full_name';
import { KindIcon } from '../widgets/kind_icon';
import { noResults } from '../words/graph';
import { commands as commandsText } from '../words/job';
import * as words from '../words/palette';
import { allCommands, type Command } from './commands';
import './palette.css';

type Entry = { key: string; command: Command } | { key: string; node: GraphNode };

const MAX_NODES = 30;

// What the cause of the selected hit refers to, which takes many Tabs to reach on its card.
function useEvidenceCommands(): Command[] {
  const { data } = useDiagnosis(useUi((state) => state.hit));
  return useMemo(
    () => (data?.evidence ?? []).map((link) => ({ title: link.label, group: words.groups.cause, run: () => followEvidence(link) })),
    [data],
  );
}

// Uses the same search as the tree.
function useFoundNodes(text: string): GraphNode[] {
  const route = useRouter((state) => state.route);
  const wanted = route.view === 'job' && text.length >= 2 ? text : '';
  const { found } = useSearch(route.view === 'job' ? route.route.job : '', wanted);
  return useMemo(() => {
    if (found === null || wanted === '') return [];
    const count = Math.min(found.count, MAX_NODES);
    return Array.from({ length: count }, (_, i) => found.at(i)).filter((node) => node !== null);
  }, [found, wanted]);
}

function choose(entry: Entry): void {
  if ('command' in entry) {
    if (entry.command.reason) return;
    showOverlay(null);
    entry.command.run();
    return;
  }
  showOverlay(null);
  touch();
  revealNode(entry.node.name);
}

function Row({ entry }: { entry: Entry }) {
  if ('node' in entry) {
    return (
      <>
        <KindIcon kind={entry.node.kind} category={entry.node.category} />
        <span className="grow">
          <FullName name={entry.node.name} />
        </span>
        <span className="muted">{words.node}</span>
      </>
    );
  }
  const { title, group, shortcut, reason } = entry.command;
  return (
    <>
      <span className="palette-group muted">{group}</span>
      <span className="grow ellipsis">
        {title}
        {reason ? <span className="muted"> · {reason}</span> : null}
      </span>
      {shortcut !== undefined && <kbd className="key">{shortcut}</kbd>}
    </>
  );
}

export function Palette() {
  const id = useId();
  const [text, setText] = useState('');
  const [marked, setMarked] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  // Commands are enabled or disabled as of the moment when the palette was opened.
  const [commands] = useState(allCommands);
  const evidence = useEvidenceCommands();
  const nodes = useFoundNodes(useDeferredValue(text.trim()));
  const entries = useMemo<Entry[]>(() => {
    const matching = [...commands, ...evidence]
      .map((command) => ({ command, score: fuzzyScore(text, command.title) }))
      .filter(({ score }) => score > 0);
    if (text.trim() !== '') matching.sort((a, b) => b.score - a.score);
    return [
      ...matching.map(({ command }) => ({ key: `${command.group} ${command.title}`, command })),
      ...nodes.map((node) => ({ key: `node ${node.name}`, node })),
    ];
  }, [commands, evidence, nodes, text]);
  const at = Math.min(marked, entries.length - 1);
  const mark = (index: number) => {
    const next = (index + entries.length) % Math.max(1, entries.length);
    setMarked(next);
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <Dialog label={commandsText} className="palette" onClose={() => showOverlay(null)}>
      <input
        className="palette-input"
        role="combobox"
        aria-label={words.commandOrNode}
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={entries.length > 0 ? `${id}-${at}` : undefined}
        placeholder={words.placeholder}
        spellCheck={false}
        autoComplete="off"
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setMarked(0);
        }}
        onKeyDown={(event) => {
          const entry = entries[at];
          if (event.key === 'ArrowDown') mark(at + 1);
          else if (event.key === 'ArrowUp') mark(at - 1);
          else if (event.key === 'Enter' && entry !== undefined) choose(entry);
          else return;
          event.preventDefault();
        }}
      />
      <div ref={list} className="palette-list" id={`${id}-list`} role="listbox" aria-label={words.commandsAndNodes}>
        {entries.map((entry, index) => (
          <div
            key={entry.key}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            aria-disabled={('command' in entry && Boolean(entry.command.reason)) || undefined}
            className="palette-row"
            onPointerMove={() => setMarked(index)}
            onClick={() => choose(entry)}
          >
            <Row entry={entry} />
          </div>
        ))}
      </div>
      {entries.length === 0 && <p className="palette-none muted">{noResults}</p>}
    </Dialog>
  );
}
