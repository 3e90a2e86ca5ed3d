// Links from the types of ops to their official documentation.

// Types of ATen without the namespace whose documentation is that of a function of torch.nn.functional.
const TORCH_FUNCTIONAL = setOf(
  'adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d ' +
  'adaptive_max_pool3d alpha_dropout avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear binary_cross_entropy ' +
  'binary_cross_entropy_with_logits celu conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d ' +
  'cosine_embedding_loss cosine_similarity ctc_loss dropout elu embedding embedding_bag feature_alpha_dropout ' +
  'fractional_max_pool2d fractional_max_pool3d gelu glu group_norm hardshrink hardsigmoid hardswish hardtanh ' +
  'hinge_embedding_loss huber_loss instance_norm kl_div l1_loss layer_norm leaky_relu linear log_softmax ' +
  'margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool2d max_unpool3d mish mse_loss multi_margin_loss ' +
  'multilabel_margin_loss nll_loss one_hot pad pairwise_distance pdist pixel_shuffle pixel_unshuffle ' +
  'poisson_nll_loss prelu relu relu6 rms_norm rrelu scaled_dot_product_attention selu silu smooth_l1_loss ' +
  'soft_margin_loss softmax softplus softshrink threshold triplet_margin_loss unfold',
);
// Those with a function of torch.
const TORCH = setOf(
  'abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint all allclose amax amin aminmax ' +
  'angle any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort argwhere ' +
  'as_strided as_strided_scatter asin asinh atan atan2 atanh baddbmm bartlett_window bernoulli bincount ' +
  'bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman_window bmm ' +
  'broadcast_shapes broadcast_tensors broadcast_to bucketize can_cast cat ceil cholesky cholesky_inverse ' +
  'cholesky_solve chunk clamp clip clone column_stack combinations complex concat concatenate conj conj_physical ' +
  'copysign corrcoef cos cosh count_nonzero cov cross cummax cummin cumprod cumsum cumulative_trapezoid deg2rad ' +
  'dequantize det diag diag_embed diagflat diagonal diagonal_scatter diff digamma dist div divide dot dsplit ' +
  'dstack einsum empty empty_like empty_strided eq equal erf erfc erfinv exp exp2 expm1 eye ' +
  'fake_quantize_per_channel_affine fake_quantize_per_tensor_affine fix flatten flip fliplr flipud float_power ' +
  'floor floor_divide fmax fmin fmod frac frexp full full_like gather gcd ge geqrf ger gradient greater ' +
  'greater_equal gt hamming_window hann_window heaviside histc histogram histogramdd hsplit hstack hypot i0 ' +
  'igamma igammac imag index_add index_copy index_reduce index_select inner inverse is_conj is_floating_point ' +
  'is_nonzero isclose isfinite isin isinf isnan isneginf isposinf isreal istft kaiser_window kron kthvalue lcm ' +
  'ldexp le lerp less less_equal lgamma linspace log log10 log1p log2 logaddexp logaddexp2 logcumsumexp logdet ' +
  'logical_and logical_not logical_or logical_xor logit logspace logsumexp lt lu_solve lu_unpack masked_select ' +
  'matmul matrix_exp matrix_power max maximum mean median min minimum mm mode moveaxis movedim msort mul ' +
  'multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow narrow_copy ne neg ' +
  'negative nextafter nonzero normal not_equal numel ones ones_like orgqr ormqr outer permute pinverse poisson ' +
  'polar polygamma positive pow prod promote_types qr quantile quantize_per_channel quantize_per_tensor ' +
  'quantize_per_tensor_dynamic rad2deg rand rand_like randint randint_like randn randn_like randperm range ravel ' +
  'real reciprocal remainder renorm repeat_interleave reshape resolve_neg result_type roll rot90 round row_stack ' +
  'rsqrt scatter scatter_add scatter_reduce searchsorted select select_scatter sgn sigmoid sign signbit sin sinc ' +
  'sinh slice_scatter slogdet sort sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor ' +
  'sparse_csc_tensor sparse_csr_tensor sqrt square squeeze stack std std_mean sub subtract sum svd swapaxes ' +
  'swapdims t take take_along_dim tan tanh tensor_split tile topk trace transpose trapezoid trapz ' +
  'triangular_solve tril tril_indices triu triu_indices true_divide trunc unbind unflatten unsqueeze vander var ' +
  'var_mean vdot view_as_complex view_as_real vsplit vstack wait where xlogy zeros zeros_like',
);
// Types of ATen that carry out a function of another name.
const TORCH_INNER: Record<string, string> = {
  _log_softmax: 'log_softmax',
  _softmax: 'softmax',
  cudnn_batch_norm: 'batch_norm',
  max_pool2d_with_indices: 'max_pool2d',
  max_pool3d_with_indices: 'max_pool3d',
  native_batch_norm: 'batch_norm',
  native_dropout: 'dropout',
  native_group_norm: 'group_norm',
  native_layer_norm: 'layer_norm',
  nll_loss2d_forward: 'nll_loss',
  nll_loss_forward: 'nll_loss',
  _scaled_dot_product_efficient_attention: 'scaled_dot_product_attention',
  _scaled_dot_product_flash_attention: 'scaled_dot_product_attention',
  _scaled_dot_product_flash_attention_for_cpu: 'scaled_dot_product_attention',
};
// Primitives of JAX with a function of jax.lax.
const LAX = setOf(
  'abs acos acosh add all_gather all_to_all argmax argmin asin asinh atan atan2 atanh axis_index bessel_i0e ' +
  'bessel_i1e betainc bitcast_convert_type broadcast broadcast_in_dim cbrt ceil clamp clz complex concatenate ' +
  'cond conj conv_general_dilated convert_element_type cos cosh cumlogsumexp cummax cummin cumprod cumsum digamma ' +
  'div dot_general dynamic_slice dynamic_update_slice eq erf erf_inv erfc exp exp2 expm1 fft floor gather ge gt ' +
  'igamma igammac imag integer_pow iota is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter ' +
  'optimization_barrier pad pmax pmin polygamma population_count pow ppermute psum psum_scatter random_gamma_grad ' +
  'real reduce reduce_and reduce_max reduce_min reduce_or reduce_precision reduce_prod reduce_sum reduce_window ' +
  'reduce_xor rem reshape rev rng_bit_generator rng_uniform round rsqrt scan scatter scatter_add scatter_max ' +
  'scatter_min scatter_mul select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh slice ' +
  'sort split sqrt square squeeze stop_gradient sub tan tanh top_k transpose while_loop zeta',
);
const LAX_INNER: Record<string, string> = { while: 'while_loop' };
const LIGHTGBM = setOf(
  'regression regression_l1 huber fair poisson quantile mape gamma tweedie binary multiclass multiclassova ' +
  'cross_entropy cross_entropy_lambda lambdarank rank_xendcg',
);
const CAMEL_CASE = /^[A-Z][A-Za-z0-9]*$/;

function setOf(names: string): ReadonlySet<string> {
  return new Set(names.split(' '));
}

function torchPage(type: string): string | null {
  if (!type.startsWith('aten::') && type.includes('::')) return null;
  // Overloads are behind a dot; ops that write in place end with an underscore.
  const name = type.replace('aten::', '').replace(/\..*$/, '').replace(/([a-z0-9])_$/, '$1');
  const inner = TORCH_INNER[name] ?? name;
  const page = TORCH_FUNCTIONAL.has(inner) ? `torch.nn.functional.${inner}` : TORCH.has(inner) ? `torch.${inner}` : null;
  return page === null ? null : `https://docs.pytorch.org/docs/stable/generated/${page}.html`;
}

function onnxPage(type: string): string | null {
  const [domain, name] = type.includes('::') ? type.split('::', 2) : ['', type];
  if (name === undefined || !CAMEL_CASE.test(name)) return null;
  switch (domain) {
    case '':
    case 'ai.onnx':
      return `https://onnx.ai/onnx/operators/onnx__${name}.html`;
    case 'ai.onnx.ml':
      return `https://onnx.ai/onnx/operators/onnx_aionnxml_${name}.html`;
    case 'com.microsoft':
      return `https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.${name}`;
    default:
      return null;
  }
}

function tensorflowPage(type: string): string | null {
  return CAMEL_CASE.test(type) ? `https://www.tensorflow.org/api_docs/python/tf/raw_ops/${type}` : null;
}

function jaxPage(type: string): string | null {
  const name = LAX_INNER[type] ?? type.replaceAll('-', '_');
  return LAX.has(name) ? `https://docs.jax.dev/en/latest/_autosummary/jax.lax.${name}.html` : null;
}

function xgboostPage(type: string): string | null {
  return /^(binary|count|multi|rank|reg|survival):[a-z]+$/.test(type)
    ? 'https://xgboost.readthedocs.io/en/stable/parameter.html#learning-task-parameters'
    : null;
}

function lightgbmPage(type: string): string | null {
  return LIGHTGBM.has(type) ? 'https://lightgbm.readthedocs.io/en/stable/Parameters.html#objective' : null;
}

const PAGES: Record<string, (type: string) => string | null> = {
  jax: jaxPage,
  lightgbm: lightgbmPage,
  onnx: onnxPage,
  onnxruntime: onnxPage,
  pytorch: torchPage,
  tensorflow: tensorflowPage,
  xgboost: xgboostPage,
};

// The address of the documentation of an op type of a framework; null if there is none, or it is not known.
export function documentationOf(framework: string, type: string): string | null {
  return Object.hasOwn(PAGES, framework) ? (PAGES[framework]?.(type) ?? null) : null;
}
