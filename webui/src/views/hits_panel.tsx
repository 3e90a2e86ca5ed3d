// The hits in execution order, grouped by step, or the log; at the lower right.

import { Crosshair } from 'lucide-react';
import { lazy, Suspense, useDeferredValue, useState } from 'react';
import { compactCount } from '../base/format';
import { useJob } from '../state/job_store';
import { Notice } from '../widgets/notice';
import { Tabs } from '../widgets/tabs';
import { loading } from '../words/common';
import * as words from '../words/hits';
import { HitFilterBar } from './hit_filter';
import { HitList } from './hit_list';
import './hits_panel.css';

const LogList = lazy(async () => ({ default: (await import('./log_list')).LogList }));

type Tab = 'hits' | 'log';

// `total` includes absorbed hits.
function Hits({ total }: { total: number }) {
  const hits = useDeferredValue(useJob((state) => state.model.hits));
  if (Math.max(total, hits.length) === 0) {
    return (
      <Notice icon={Crosshair} title={words.noHits}>
        <p>{words.hitsAppear}</p>
      </Notice>
    );
  }
  return (
    <>
      <HitFilterBar hits={hits} />
      <HitList hits={hits} total={total} />
    </>
  );
}

export function HitsPanel() {
  const [tab, setTab] = useState<Tab>('hits');
  const absorbed = useJob(({ model }) => model.info?.absorbed_hit_count ?? 0);
  const all = useJob(({ model }) => Math.max((model.info?.hit_count ?? 0) + absorbed, model.hits.length));
  const total = all - absorbed;
  return (
    <section className="panel" aria-label={tab === 'hits' ? words.hits : words.log}>
      <header className="panel-head panel-head-tabs">
        <Tabs
          tabs={[
            { id: 'hits', label: words.hits, ...(total > 0 ? { count: compactCount(total) } : {}) },
            { id: 'log', label: words.log },
          ]}
          selected={tab}
          label={words.hitsAndLog}
          panel="hits-and-log"
          onSelect={setTab}
        />
        <span className="visually-hidden" aria-live="polite">
          {total > 0 ? words.hitCount(total) : ''}
        </span>
      </header>
      <div className="panel-body hits-body" id="hits-and-log" role="tabpanel" aria-label={tab}>
        {tab === 'hits' ? (
          <Hits total={all} />
        ) : (
          <Suspense fallback={<Notice title={loading} busy />}>
            <LogList />
          </Suspense>
        )}
      </div>
    </section>
  );
}
