// The audit log: who did what, when, from where, and with which result.

import { ChevronRight } from 'lucide-react';
import { useEffect } from 'react';
import type { AuditEntry } from '../api/types';
import { useAuth } from '../state/auth';
import { describe } from '../state/describe';
import { reasonAgainst } from '../state/permissions';
import { useAudit } from '../state/queries';
import { formatRoute, jobRoute } from '../state/route';
import { navigate } from '../state/router';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import * as words from '../words/access';
import { clockTime } from '../words/age';
import { tryAgain } from '../words/common';
import { homeSuffix } from '../words/job';
import { Brand } from './brand';
import './audit_view.css';

const { auditColumns: columns } = words;

function Row({ entry }: { entry: AuditEntry }) {
  const { time, who, role, from, action, job, detail, result } = entry;
  return (
    <tr>
      <td className="mono audit-time" title={time}>
        {clockTime(time)}
      </td>
      <td>
        {who === '' ? <span className="muted">{words.unknownCaller}</span> : who}{' '}
        {role !== '' && <span className="muted">{role}</span>}
      </td>
      <td className="mono">{from}</td>
      <td>{action}</td>
      <td className="mono">
        {job !== '' && <a href={formatRoute({ view: 'job', route: jobRoute(job) })}>{job}</a>}
      </td>
      <td className="audit-detail">{detail}</td>
      <td className={result === words.ok ? 'muted' : 'audit-refused'}>{result}</td>
    </tr>
  );
}

function Entries() {
  const audit = useAudit();
  const entries = audit.data?.pages.flatMap((page) => page.entries) ?? [];
  if (audit.isPending) return <Notice title={words.loadingAudit} busy />;
  if (audit.error !== null && entries.length === 0) {
    return (
      <Notice title={words.auditNotLoaded} tone="error">
        <p>{describe(audit.error)}</p>
        <Button label={tryAgain} onClick={() => void audit.refetch()} />
      </Notice>
    );
  }
  if (entries.length === 0) return <Notice title={words.noEntries} />;
  return (
    <>
      <table className="audit-table">
        <thead>
          <tr>
            {Object.values(columns).map((name) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry, i) => (
            // Entries have no id; new pages are only added at the end.
            <Row key={i} entry={entry} />
          ))}
        </tbody>
      </table>
      {audit.error !== null && <p className="audit-error" role="alert">{describe(audit.error)}</p>}
      {audit.hasNextPage && (
        <Button
          label={words.olderEntries}
          pending={audit.isFetchingNextPage}
          onClick={() => void audit.fetchNextPage()}
        />
      )}
    </>
  );
}

export function AuditView() {
  const session = useAuth((state) => state.session);
  const forbidden = reasonAgainst('audit', session, null);
  useEffect(() => {
    document.title = `${words.auditLog} · graphdbg`;
  }, []);
  return (
    <div className="audit">
      <header className="audit-head">
        <button type="button" className="top-home" onClick={() => navigate({ view: 'jobs' })}>
          <Brand />
          <span className="visually-hidden">{homeSuffix}</span>
        </button>
        <ChevronRight aria-hidden size={14} />
        <h1>{words.auditLog}</h1>
      </header>
      <main className="audit-main">
        {forbidden === '' ? <Entries /> : <Notice title={words.auditNotLoaded}>{forbidden}</Notice>}
      </main>
    </div>
  );
}
