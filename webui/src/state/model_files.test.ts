import { expect, test } from 'vitest';
import { modelAmong } from './model_files';

const named = (...names: string[]) => names.map((name) => new File([], name));

test('of a model and its weights, the model is opened', () => {
  expect(modelAmong(named('net.data', 'net.onnx', 'other.onnx'))?.name).toBe('net.onnx');
  expect(modelAmong(named('NET.ONNX', 'a'))?.name).toBe('NET.ONNX');
  // The server checks the contents.
  expect(modelAmong(named('net.data'))?.name).toBe('net.data');
  expect(modelAmong([])).toBeUndefined();
});
