// The hits in execution order, grouped by step, what rules have found, or the log; at the lower right.

import { Crosshair } from 'lucide-react';
import { lazy, Suspense, useDeferredValue, useEffect, useState } from 'react';
import { compactCount } from '../base/format';
import { loadFindings, useFindings } from '../state/findings';
import { useJob } from '../state/job_store';
import { Notice } from '../widgets/notice';
import { Tabs } from '../widgets/tabs';
import { loading } from '../words/common';
import { findings as findingsWord } from '../words/findings';
import * as words from '../words/hits';
import { HitFilterBar } from './hit_filter';
import { HitList } from './hit_list';
import './hits_panel.css';

const FindingList = lazy(async () => ({ default: (await import('./finding_list')).FindingList }));
const LogList = lazy(async () => ({ default: (await import('./log_list')).LogList }));

type Tab = 'hits' | 'findings' | 'log';

const TITLES: Record<Tab, string> = { hits: words.hits, findings: findingsWord, log: words.log };

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

// Loads what rules have found whenever that may have changed, and returns how much it is.
function useFindingCount(): number {
  const job = useJob((state) => state.id);
  const version = useJob(({ model }) => model.finding_version);
  useEffect(() => void loadFindings(job), [job, version]);
  return useFindings((state) => (state.job === job ? state.total : 0));
}

export function HitsPanel() {
  const [chosen, setTab] = useState<Tab>('hits');
  const found = useFindingCount();
  const tab = chosen === 'findings' && found === 0 ? 'hits' : chosen;
  const absorbed = useJob(({ model }) => model.info?.absorbed_hit_count ?? 0);
  const all = useJob(({ model }) => Math.max((model.info?.hit_count ?? 0) + absorbed, model.hits.length));
  const total = all - absorbed;
  return (
    <section className="panel" aria-label={TITLES[tab]}>
      <header className="panel-head panel-head-tabs">
        <Tabs
          tabs={[
            { id: 'hits', label: words.hits, ...(total > 0 ? { count: compactCount(total) } : {}) },
            ...(found > 0 ? [{ id: 'findings' as const, label: findingsWord, count: compactCount(found) }] : []),
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
            {tab === 'findings' ? <FindingList /> : <LogList />}
          </Suspense>
        )}
      </div>
    </section>
  );
}
