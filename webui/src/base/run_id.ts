// Recorded runs on the page. A run is shown like a job, under an id that no job can have:
// ids of jobs contain no slash.

const PREFIX = 'runs/';

export const runId = (name: string): string => PREFIX + name;
export const isRun = (id: string): boolean => id.startsWith(PREFIX);
export const runName = (id: string): string => id.slice(PREFIX.length);

// The path of a job or of a run, in the API and in addresses of the page.
export function pathOf(id: string): string {
  return isRun(id) ? `/runs/${encodeURIComponent(runName(id))}` : `/jobs/${encodeURIComponent(id)}`;
}
