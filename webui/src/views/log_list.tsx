// The log of the job since the page was opened, newest entries last.

import {
  CircleAlert,
  CircleDot,
  Cpu,
  Eye,
  MessageSquare,
  ScrollText,
  TerminalSquare,
  TriangleAlert,
  type LucideIcon,
} from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useAuth } from '../state/auth';
import { useJob } from '../state/job_store';
import type { EntryKind, JournalEntry, Place } from '../state/journal';
import { patchRoute } from '../state/router';
import { revealNode } from '../state/scopes';
import { touch } from '../state/ui';
import { FullName } from '../widgets/full_name';
import { Notice } from '../widgets/notice';
import { useElementSize } from '../widgets/use_size';
import * as words from '../words/log';

const ICONS: Record<EntryKind, LucideIcon> = {
  command: TerminalSquare,
  refused: CircleAlert,
  state: CircleDot,
  watchpoint: Eye,
  rank: Cpu,
  log: MessageSquare,
  warning: TriangleAlert,
  error: CircleAlert,
};

type Filter = keyof typeof words.filters;

const FILTERS: Record<Filter, readonly EntryKind[]> = {
  commands: ['command', 'refused'],
  stops: ['state', 'error'],
  watchpoints: ['watchpoint'],
  ranks: ['rank'],
  messages: ['log', 'warning', 'error'],
};

function timeOf(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? '' : time.toLocaleTimeString('en-GB');
}

const LOCAL = /^(127\.|\[?::1\]?$)/;

// The client that sent a command: "this page", "graphdbg", "alice, another browser at 10.0.0.7".
function senderOf({ id, user, client, peer }: NonNullable<JournalEntry['order']>, own: ReadonlySet<string>): string {
  if (own.has(id)) return words.thisPage;
  const host = peer.slice(0, Math.max(0, peer.lastIndexOf(':')));
  const sender = client === 'browser' ? words.anotherBrowser : client === '' ? words.unknownClient : client;
  const where = host === '' || LOCAL.test(host) ? sender : words.clientAt(sender, host);
  return user === '' || user === useAuth.getState().session?.name ? where : words.clientOf(user, where);
}

function go(place: Place): void {
  touch();
  if ('node' in place) revealNode(place.node);
  else if ('rank' in place) patchRoute({ rank: place.rank });
  else document.querySelector<HTMLElement>(`#watchpoint-${place.watchpoint}`)?.focus();
}

// False for a watchpoint that was removed.
function useExists(place: Place | null): boolean {
  return useJob(({ model }) => {
    if (place === null || !('watchpoint' in place)) return place !== null;
    return model.watchpoints.some(({ id }) => id === place.watchpoint);
  });
}

function Entry({ entry, own }: { entry: JournalEntry; own: ReadonlySet<string> }) {
  const { kind, text, place, order, time } = entry;
  const Icon = ICONS[kind];
  const exists = useExists(place);
  const node = place !== null && 'node' in place ? place.node : null;
  return (
    <li className={`log-line log-${kind}`}>
      <time className="mono muted" dateTime={time} title={new Date(time).toLocaleString('en-GB')}>
        {timeOf(time)}
      </time>
      <Icon aria-hidden size={13} />
      <span className="grow log-text">
        <span className="log-message" title={text}>
          {place !== null && exists && node === null ? (
            <button type="button" className="link log-go" onClick={() => go(place)}>
              {text}
            </button>
          ) : (
            text
          )}
          {order !== undefined && <span className="muted"> · {senderOf(order, own)}</span>}
        </span>
        {node !== null && (
          <button type="button" className="link log-node" title={node} onClick={() => go({ node })}>
            <FullName name={node} />
          </button>
        )}
      </span>
    </li>
  );
}

// Keeps the newest entries in view until the user scrolls up.
function Lines({ entries }: { entries: readonly JournalEntry[] }) {
  const own = useJob((state) => state.own_commands);
  const list = useRef<HTMLOListElement>(null);
  const atEnd = useRef(true);
  const size = useElementSize(list);
  useEffect(() => {
    const element = list.current;
    if (element !== null && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [entries, size]);
  return (
    <ol
      ref={list}
      className="log"
      aria-label={words.log}
      tabIndex={0}
      onScroll={(event) => {
        const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
        atEnd.current = scrollTop + clientHeight >= scrollHeight - 20;
      }}
    >
      {entries.map((entry) => (
        <Entry key={entry.id} entry={entry} own={own} />
      ))}
    </ol>
  );
}

export function LogList() {
  const journal = useJob((state) => state.model.journal);
  const [filter, setFilter] = useState<Filter | ''>('');
  const shown = useMemo(
    () => (filter === '' ? journal : journal.filter(({ kind }) => FILTERS[filter].includes(kind))),
    [journal, filter],
  );
  if (journal.length === 0) return <Notice icon={ScrollText} title={words.empty} />;
  return (
    <>
      <div className="hit-filter">
        <select
          className="field"
          aria-label={words.filterLog}
          value={filter}
          onChange={(event) => setFilter(event.target.value as Filter | '')}
        >
          <option value="">{words.allEntries}</option>
          {Object.entries(words.filters).map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      </div>
      {shown.length === 0 ? <Notice title={words.noneMatch} /> : <Lines entries={shown} />}
    </>
  );
}
