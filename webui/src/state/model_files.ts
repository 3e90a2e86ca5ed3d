// Opening of model files. The server turns each into a job that has ended and has the model's graph;
// the model is not run.

import { create } from 'zustand';
import { api } from '../api/client';
import { modelNotOpened } from '../words/job';
import { describe } from './describe';
import { jobRoute } from './route';
import { navigate } from './router';
import { showToast } from './toasts';

// Name of the file that is being uploaded, or null.
export const useOpening = create<{ name: string | null }>(() => ({ name: null }));

// Picks the model from several dropped files. The others may contain its weights, which are not
// needed for the graph.
export function modelAmong(files: Iterable<File>): File | undefined {
  const all = [...files];
  return all.find((file) => file.name.toLowerCase().endsWith('.onnx')) ?? all[0];
}

// Uploads the file and shows its graph.
export async function openModel(file: File): Promise<void> {
  if (useOpening.getState().name !== null) return;
  useOpening.setState({ name: file.name });
  try {
    const { job } = await api.openModel(file.name, file);
    navigate({ view: 'job', route: jobRoute(job) });
  } catch (error) {
    showToast({ kind: 'error', title: modelNotOpened(file.name), detail: describe(error) });
  } finally {
    useOpening.setState({ name: null });
  }
}
