// Model files that the user opens: each becomes a job that has ended, with the
// model's graph. Nothing is run.

import { create } from 'zustand';
import { api } from '../api/client';
import { describe } from '../api/problem';
import { jobRoute } from './route';
import { navigate } from './router';
import { showToast } from './toasts';

// Which is on its way to the server; null: none.
export const useOpening = create<{ name: string | null }>(() => ({ name: null }));

// Of several files the model: its weights may lie in others beside it, which its
// graph does not need.
export function modelAmong(files: Iterable<File>): File | undefined {
  const all = [...files];
  return all.find((file) => file.name.toLowerCase().endsWith('.onnx')) ?? all[0];
}

// Shows the graph when it is there.
export async function openModel(file: File): Promise<void> {
  if (useOpening.getState().name !== null) return;
  useOpening.setState({ name: file.name });
  try {
    const { job } = await api.openModel(file.name, file);
    navigate({ view: 'job', route: jobRoute(job) });
  } catch (error) {
    showToast({ kind: 'error', title: `${file.name} cannot be opened`, detail: describe(error) });
  } finally {
    useOpening.setState({ name: null });
  }
}
