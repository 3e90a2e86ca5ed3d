// Right, below: hits in execution order.

import { useVirtualizer } from '@tanstack/react-virtual';
import { Crosshair } from 'lucide-react';
import { useEffect, useRef } from 'react';
import type { Hit } from '../api/types';
import { formatCount } from '../base/format';
import { useJob } from '../state/job_store';
import { patchRoute } from '../state/router';
import { revealNode } from '../state/scopes';
import { touch } from '../state/ui';
import { actualText, conditionText } from '../state/watchpoints';
import { FullName } from '../widgets/full_name';
import { Notice } from '../widgets/notice';
import { Panel } from '../widgets/panel';
import { useJobContext } from './job_context';
import './hits_panel.css';

const ROW_PX = 42;

const ORIGIN_TEXTS = {
  origin: 'Origin: its inputs were still good',
  propagated: 'Propagated: an input was bad already',
  unknown: '',
} as const;

function goTo(hit: Hit): void {
  touch();
  revealNode(hit.node);
  patchRoute({ slot: String(hit.slot) });
}

function HitRow({ hit }: { hit: Hit }) {
  return (
    <>
      <span className="hit-step mono" title={`Step ${hit.step}`}>
        {hit.step}
      </span>
      <span className="hit-node">
        <FullName name={hit.node} />
        <div className="hit-detail ellipsis">
          {hit.error ? (
            <span className="hit-error">{hit.error}</span>
          ) : (
            <>
              <span className="hit-actual mono">{actualText(hit)}</span>
              <span className="muted"> · {conditionText(hit.condition, hit.params)}</span>
            </>
          )}
        </div>
      </span>
      {hit.origin !== 'unknown' && (
        <span className={`hit-origin hit-origin-${hit.origin}`} title={ORIGIN_TEXTS[hit.origin]}>
          {hit.origin}
        </span>
      )}
    </>
  );
}

export function HitsPanel() {
  const { route } = useJobContext();
  const hits = useJob((state) => state.model.hits);
  const total = useJob((state) => state.model.info?.hit_count ?? 0);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: hits.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
    getItemKey: (index) => hits[index]?.id ?? index,
  });
  // New hits stay in view if the end of the list is.
  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current && hits.length > 0) virtual.scrollToIndex(hits.length - 1, { align: 'end' });
  }, [hits.length, virtual]);

  const selected = hits.findIndex((hit) => hit.node === route?.node && String(hit.slot) === (route?.slot ?? '0'));
  const onKeyDown = (event: React.KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = Math.min(hits.length - 1, Math.max(0, selected + by));
    const hit = hits[next];
    if (hit === undefined) return;
    goTo(hit);
    virtual.scrollToIndex(next, { align: 'auto' });
  };
  const shown = hits.length < total ? `newest ${formatCount(hits.length)} of ` : '';
  return (
    <Panel
      title="Hits"
      count={
        <span aria-live="polite">
          {Math.max(total, hits.length) > 0 && `${shown}${formatCount(Math.max(total, hits.length))}`}
        </span>
      }
    >
      {hits.length === 0 ? (
        <Notice icon={Crosshair} title="No hits">
          <p>Tensors that meet a watchpoint’s condition are listed here.</p>
        </Notice>
      ) : (
        <div
          ref={scroller}
          className="hits"
          role="listbox"
          aria-label="Hits"
          tabIndex={0}
          onKeyDown={onKeyDown}
          onScroll={(event) => {
            const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
            atEnd.current = scrollTop + clientHeight >= scrollHeight - ROW_PX;
          }}
        >
          <div role="presentation" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, start, key }) => {
              const hit = hits[index];
              if (hit === undefined) return null;
              return (
                <div
                  key={key}
                  role="option"
                  aria-selected={hit.node === route?.node}
                  className="hit-row"
                  title={hit.node}
                  style={{ transform: `translateY(${start}px)` }}
                  onClick={() => goTo(hit)}
                >
                  <HitRow hit={hit} />
                </div>
              );
            })}
          </div>
        </div>
      )}
    </Panel>
  );
}
