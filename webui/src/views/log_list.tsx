// What happened in this job since the page was opened: states, watchpoints, refused
// commands, and what the job said.

import { CircleAlert, CircleDot, Eye, MessageSquare, TriangleAlert, type LucideIcon } from 'lucide-react';
import { useEffect, useRef } from 'react';
import type { JournalEntry } from '../state/job';
import { useJob } from '../state/job_store';
import { revealNode } from '../state/scopes';
import { FullName } from '../widgets/full_name';
import { Notice } from '../widgets/notice';

const ICONS: Record<JournalEntry['kind'], LucideIcon> = {
  state: CircleDot,
  watchpoint: Eye,
  refused: CircleAlert,
  log: MessageSquare,
  warning: TriangleAlert,
  error: CircleAlert,
};

function timeOf(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? '' : time.toLocaleTimeString('en-GB');
}

export function LogList() {
  const journal = useJob((state) => state.model.journal);
  const list = useRef<HTMLOListElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const element = list.current;
    if (element !== null && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [journal]);
  if (journal.length === 0) return <Notice title="Nothing has happened yet" />;
  return (
    <ol
      ref={list}
      className="log"
      aria-label="Log"
      tabIndex={0}
      onScroll={(event) => {
        const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
        atEnd.current = scrollTop + clientHeight >= scrollHeight - 20;
      }}
    >
      {journal.map((entry) => {
        const Icon = ICONS[entry.kind];
        const { node } = entry;
        return (
          <li key={entry.id} className={`log-line log-${entry.kind}`}>
            <time className="mono muted" dateTime={entry.time}>
              {timeOf(entry.time)}
            </time>
            <Icon aria-hidden size={13} />
            <span className="grow">
              {entry.text}
              {node !== null && (
                <button type="button" className="link log-node" title={node} onClick={() => revealNode(node)}>
                  <FullName name={node} />
                </button>
              )}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
