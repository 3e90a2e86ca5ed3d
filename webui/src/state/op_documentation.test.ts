import { expect, test } from 'vitest';
import { documentationOf } from './op_documentation';

test.each([
  ['pytorch', 'aten::conv2d', 'https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.conv2d.html'],
  ['pytorch', 'aten::add.Tensor', 'https://docs.pytorch.org/docs/stable/generated/torch.add.html'],
  ['pytorch', 'aten::relu_', 'https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.relu.html'],
  ['pytorch', 'aten::_log_softmax', 'https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.log_softmax.html'],
  ['pytorch', 'mm', 'https://docs.pytorch.org/docs/stable/generated/torch.mm.html'],
  ['onnxruntime', 'Conv', 'https://onnx.ai/onnx/operators/onnx__Conv.html'],
  ['onnx', 'ai.onnx.ml::Scaler', 'https://onnx.ai/onnx/operators/onnx_aionnxml_Scaler.html'],
  [
    'onnxruntime',
    'com.microsoft::FusedMatMul',
    'https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.FusedMatMul',
  ],
  ['tensorflow', 'MatMul', 'https://www.tensorflow.org/api_docs/python/tf/raw_ops/MatMul'],
  ['jax', 'dot_general', 'https://docs.jax.dev/en/latest/_autosummary/jax.lax.dot_general.html'],
  ['jax', 'scatter-add', 'https://docs.jax.dev/en/latest/_autosummary/jax.lax.scatter_add.html'],
  ['jax', 'while', 'https://docs.jax.dev/en/latest/_autosummary/jax.lax.while_loop.html'],
  ['xgboost', 'binary:logistic', 'https://xgboost.readthedocs.io/en/stable/parameter.html#learning-task-parameters'],
  ['lightgbm', 'multiclass', 'https://lightgbm.readthedocs.io/en/stable/Parameters.html#objective'],
])('%s documents %s', (framework, type, address) => {
  expect(documentationOf(framework, type)).toBe(address);
});

test.each([
  ['pytorch', 'mylib::conv2d'],
  ['pytorch', 'aten::nosuchop'],
  ['pytorch', 'javascript:alert(1)'],
  ['onnxruntime', 'my.domain::Conv'],
  ['onnxruntime', 'Conv/../x'],
  ['tensorflow', '<img src=x>'],
  ['jax', 'pjit'],
  ['xgboost', 'my_objective'],
  ['xgboost', 'split'],
  ['lightgbm', 'leaf'],
  ['mindspore', 'Conv2D'],
  ['constructor', 'name'],
  ['', ''],
])('%s has no known documentation of %s', (framework, type) => {
  expect(documentationOf(framework, type)).toBeNull();
});
