#ifndef AGENT_ADAPTERS_TENSORFLOW_TAPS_C_API_H_
#define AGENT_ADAPTERS_TENSORFLOW_TAPS_C_API_H_

#include <cstddef>
#include <cstdint>
#include <string>

// The part of TensorFlow's C interface that the taps use, which is the same in
// all versions. It is declared here and found in the process, so that one
// binary serves all of them and needs none to be built.
struct TF_Status;
struct TF_Tensor;
struct TF_OpDefinitionBuilder;
struct TF_KernelBuilder;
struct TF_OpKernelConstruction;
struct TF_OpKernelContext;
struct TF_ShapeInferenceContext;
struct TF_ShapeHandle;

namespace graphdbg::tensorflow_taps {

constexpr int kCancelled = 1;

// TF_DataType.
enum DataType {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kUint16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kUint32 = 22,
  kUint64 = 23,
  kFloat8E5m2 = 24,
  kFloat8E4m3fn = 25,
};

// clang-format off
// Name, result and arguments of each function, without the prefix TF_.
#define GRAPHDBG_TF_FUNCTIONS(X)                                              \
  X(NewStatus, TF_Status*, ())                                                \
  X(DeleteStatus, void, (TF_Status*))                                         \
  X(SetStatus, void, (TF_Status*, int, const char*))                          \
  X(GetCode, int, (const TF_Status*))                                         \
  X(NewOpDefinitionBuilder, TF_OpDefinitionBuilder*, (const char*))           \
  X(OpDefinitionBuilderAddAttr, void, (TF_OpDefinitionBuilder*, const char*)) \
  X(OpDefinitionBuilderAddInput, void, (TF_OpDefinitionBuilder*, const char*)) \
  X(OpDefinitionBuilderAddOutput, void, (TF_OpDefinitionBuilder*, const char*)) \
  X(OpDefinitionBuilderSetIsStateful, void, (TF_OpDefinitionBuilder*, bool))  \
  X(OpDefinitionBuilderSetShapeInferenceFunction, void,                       \
    (TF_OpDefinitionBuilder*, void (*)(TF_ShapeInferenceContext*, TF_Status*))) \
  X(RegisterOpDefinition, void, (TF_OpDefinitionBuilder*, TF_Status*))        \
  X(NewShapeHandle, TF_ShapeHandle*, ())                                      \
  X(DeleteShapeHandle, void, (TF_ShapeHandle*))                               \
  X(ShapeInferenceContextGetInput, void,                                      \
    (TF_ShapeInferenceContext*, int, TF_ShapeHandle*, TF_Status*))            \
  X(ShapeInferenceContextSetOutput, void,                                     \
    (TF_ShapeInferenceContext*, int, TF_ShapeHandle*, TF_Status*))            \
  X(ShapeInferenceContextNumInputs, int64_t, (TF_ShapeInferenceContext*))     \
  X(NewKernelBuilder, TF_KernelBuilder*,                                      \
    (const char*, const char*, void* (*)(TF_OpKernelConstruction*),           \
     void (*)(void*, TF_OpKernelContext*), void (*)(void*)))                  \
  X(RegisterKernelBuilder, void,                                              \
    (const char*, TF_KernelBuilder*, TF_Status*))                             \
  X(OpKernelConstruction_GetAttrInt64, void,                                  \
    (TF_OpKernelConstruction*, const char*, int64_t*, TF_Status*))            \
  X(OpKernelConstruction_GetAttrSize, void,                                   \
    (TF_OpKernelConstruction*, const char*, int32_t*, int32_t*, TF_Status*))  \
  X(OpKernelConstruction_GetAttrInt64List, void,                              \
    (TF_OpKernelConstruction*, const char*, int64_t*, int, TF_Status*))       \
  X(OpKernelContext_Failure, void, (TF_OpKernelContext*, TF_Status*))         \
  X(NumInputs, int, (TF_OpKernelContext*))                                    \
  X(GetInput, void, (TF_OpKernelContext*, int, TF_Tensor**, TF_Status*))      \
  X(SetOutput, void,                                                          \
    (TF_OpKernelContext*, int, const TF_Tensor*, TF_Status*))                 \
  X(GetFrameId, uint64_t, (TF_OpKernelContext*))                              \
  X(GetIterId, int64_t, (TF_OpKernelContext*))                                \
  X(TensorType, int, (const TF_Tensor*))                                      \
  X(NumDims, int, (const TF_Tensor*))                                         \
  X(Dim, int64_t, (const TF_Tensor*, int))                                    \
  X(TensorData, void*, (const TF_Tensor*))                                    \
  X(DeleteTensor, void, (TF_Tensor*))
// clang-format on

struct CApi {
#define GRAPHDBG_TF_POINTER(name, result, arguments) \
  result(*name) arguments = nullptr;
  GRAPHDBG_TF_FUNCTIONS(GRAPHDBG_TF_POINTER)
#undef GRAPHDBG_TF_POINTER

  // Finds the functions in a library that the process has loaded. Returns the
  // name of one that is missing, or of the library; empty if there is none.
  std::string Load(const char* library);
};

// Valid once CApi::Load has succeeded.
CApi& Tf();

// Owns a status.
class Status {
 public:
  Status() : status_(Tf().NewStatus()) {}
  ~Status() { Tf().DeleteStatus(status_); }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

  TF_Status* get() const { return status_; }
  bool ok() const { return Tf().GetCode(status_) == 0; }

 private:
  TF_Status* const status_;
};

}  // namespace graphdbg::tensorflow_taps

#endif  // AGENT_ADAPTERS_TENSORFLOW_TAPS_C_API_H_
