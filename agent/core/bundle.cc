#include "agent/core/bundle.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/core/execution.h"
#include "agent/core/version.h"
#include "agent/core/zip_writer.h"
#include "agent/tensor/slice.h"
#include "proto/wire/error.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr int64_t kPieceBytes = int64_t{1} << 20;
// A larger output is represented by its digest.
constexpr int64_t kMaxExpectedBytes = int64_t{16} << 20;
constexpr size_t kMaxSources = 20;
constexpr size_t kMaxSourceBytes = size_t{1} << 20;
constexpr size_t kMaxCommentBytes = 300;

constexpr char kReproScript[] =
#include "agent/core/repro_script.inc"
    ;

absl::Status Fail(absl::StatusCode code, absl::string_view reason,
                  absl::string_view message) {
  return wire::MakeError(code, std::string(reason), std::string(message));
}

std::string Dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json Parsed(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : Json::object();
}

// The name of a type in safetensors files; empty if they do not have it.
absl::string_view SafetensorsName(graphdbg_dtype dtype) {
  switch (dtype) {
    case GRAPHDBG_BOOL:
      return "BOOL";
    case GRAPHDBG_INT8:
      return "I8";
    case GRAPHDBG_INT16:
      return "I16";
    case GRAPHDBG_INT32:
      return "I32";
    case GRAPHDBG_INT64:
      return "I64";
    case GRAPHDBG_UINT8:
      return "U8";
    case GRAPHDBG_UINT16:
      return "U16";
    case GRAPHDBG_UINT32:
      return "U32";
    case GRAPHDBG_UINT64:
      return "U64";
    case GRAPHDBG_FLOAT16:
      return "F16";
    case GRAPHDBG_BFLOAT16:
      return "BF16";
    case GRAPHDBG_FLOAT32:
      return "F32";
    case GRAPHDBG_FLOAT64:
      return "F64";
    case GRAPHDBG_COMPLEX64:
      return "C64";
    case GRAPHDBG_FLOAT8_E4M3FN:
      return "F8_E4M3";
    case GRAPHDBG_FLOAT8_E5M2:
      return "F8_E5M2";
    default:
      return "";
  }
}

// The header of a safetensors file, with its length.
std::string SafetensorsHeader(const Json& tensors) {
  std::string text =
      tensors.dump(-1, ' ', false, Json::error_handler_t::replace);
  while (text.size() % 8 != 0) text += ' ';
  std::string header;
  for (int i = 0; i < 8; ++i) {
    header += static_cast<char>(uint64_t{text.size()} >> (8 * i));
  }
  return header + text;
}

// One line of a comment.
std::string Comment(absl::string_view text) {
  std::string line = "#";
  if (!text.empty()) line += ' ';
  for (const char c : text.substr(0, kMaxCommentBytes)) {
    line += absl::ascii_iscntrl(static_cast<unsigned char>(c)) ? ' ' : c;
  }
  return line + "\n";
}

// The values of a dense tensor of the program in row-major order, piece by
// piece.
absl::Status ReadPieces(
    Devices* devices, const graphdbg_tensor& tensor,
    const std::function<absl::Status(absl::string_view)>& take) {
  const TensorView view = ViewOf(tensor);
  const auto item = static_cast<int64_t>(ItemSize(view.dtype));
  Slice slice;
  for (uint32_t i = 0; i < tensor.ndim; ++i) {
    slice.push_back({0, tensor.shape[i], 1, false});
  }
  const int64_t count = ElementCount(slice);
  const TensorAccess access(devices, tensor, /*running=*/false);
  if (count > 0 && (!access.ok() || item == 0)) {
    return Fail(absl::StatusCode::kUnimplemented, "unreadable",
                "values of this type or on this device cannot be read");
  }
  std::string piece;
  if (tensor.device == GRAPHDBG_CPU) {
    SliceReader reader(view, slice);
    while (!reader.done()) {
      piece.clear();
      reader.Read(kPieceBytes, &piece);
      RETURN_IF_ERROR(take(piece));
    }
    return absl::OkStatus();
  }
  runtime::Accelerator* const device = devices->DeviceOf(tensor);
  for (int64_t first = 0; first < count;) {
    const int64_t elements =
        std::min(count - first, std::max<int64_t>(kPieceBytes / item, 1));
    piece.clear();
    if (device == nullptr ||
        !device->Read(view, slice, first, elements, &piece).ok()) {
      return Fail(absl::StatusCode::kUnavailable, "unreadable",
                  "the device does not give out the values");
    }
    RETURN_IF_ERROR(take(piece));
    first += elements;
  }
  return absl::OkStatus();
}

int64_t BytesOf(const graphdbg_tensor& tensor) {
  int64_t bytes = static_cast<int64_t>(ItemSize(ViewOf(tensor).dtype));
  for (uint32_t i = 0; i < tensor.ndim; ++i) bytes *= tensor.shape[i];
  return bytes;
}

Json FrameJson(const v1::SourceFrame& frame) {
  return {{"file", frame.file()},
          {"line", frame.line()},
          {"function", frame.function()},
          {"user", frame.user()}};
}

// The parts of one bundle.
class Bundle {
 public:
  Bundle(const BundleWriter::Parts& parts, const BundleSubject& subject,
         const BundleSettings& settings, int file)
      : parts_(parts), subject_(subject), settings_(settings), zip_(file) {}

  absl::Status Write(const graphdbg_tape& tape) {
    hit_ = Parsed(subject_.hit);
    node_ = parts_.nodes->NodeOf(subject_.node);
    ops_ = Parsed(tape.text);
    RETURN_IF_ERROR(Add("tape.json", tape.text));
    RETURN_IF_ERROR(Add("repro.py", ReproScript()));
    RETURN_IF_ERROR(AddVectors("leaves.safetensors",
                               {tape.leaves, tape.leaf_names, tape.leaf_count},
                               {}));
    if (tape.whole_step) RETURN_IF_ERROR(AddStep(tape));
    why_not_step_ = tape.why_not_step == nullptr ? "" : tape.why_not_step;
    RETURN_IF_ERROR(AddExpected(tape.expected));
    RETURN_IF_ERROR(Add("graph.json", Dump(GraphJson())));
    RETURN_IF_ERROR(
        Add("environment.json", Dump(Parsed(subject_.environment))));
    if (settings_.sources) RETURN_IF_ERROR(AddSources());
    RETURN_IF_ERROR(zip_.Add("manifest.json", Dump(Manifest())).status());
    return zip_.Finish();
  }

 private:
  absl::Status Add(const std::string& name, absl::string_view content) {
    ASSIGN_OR_RETURN(const std::string digest, zip_.Add(name, content));
    members_[name] = {{"bytes", content.size()}, {"sha256", digest}};
    return absl::OkStatus();
  }

  absl::Status End(const std::string& name, uint64_t bytes) {
    ASSIGN_OR_RETURN(const std::string digest, zip_.End());
    members_[name] = {{"bytes", bytes}, {"sha256", digest}};
    return absl::OkStatus();
  }

  std::string ReproScript() const {
    const auto condition = hit_.find("condition");
    const bool named = condition != hit_.end() && condition->is_string();
    std::string text = Comment(
        absl::StrCat(named ? condition->get<std::string>() : "a hit", " at ",
                     node_.name(), ":", subject_.slot, ", step ", subject_.step,
                     " of the job ", subject_.job));
    for (const v1::SourceFrame& frame : node_.stack()) {
      if (!frame.user()) continue;
      text += Comment(absl::StrCat(frame.file(), ":", frame.line()));
      break;
    }
    text += Comment("");
    text += Comment("In this folder:  python repro.py");
    text += Comment("or, in float64:  python repro.py float64");
    return text + kReproScript;
  }

  // Vectors of bytes of the program, with their names.
  struct Vectors {
    const graphdbg_tensor* tensors;
    const char* const* names;
    size_t count;
  };

  // Writes a safetensors file with these vectors, and with `more`: integers.
  absl::Status AddVectors(const std::string& name, const Vectors& vectors,
                          const Json& more) {
    Json header = Json::object();
    uint64_t bytes = 0;
    const auto place = [&](const std::string& key, const char* dtype,
                           uint64_t elements, uint64_t size) {
      header[key] = {{"dtype", dtype},
                     {"shape", Json::array({elements})},
                     {"data_offsets", {bytes, bytes + size}}};
      bytes += size;
    };
    // Integers first, at offsets that their size divides.
    std::string integers;
    for (const auto& [key, values] : more.items()) {
      if (!values.is_array()) continue;
      place(key, "I64", values.size(), 8 * values.size());
      for (const Json& value : values) {
        const int64_t number =
            value.is_number_integer() ? value.get<int64_t>() : int64_t{0};
        integers.append(reinterpret_cast<const char*>(&number), 8);
      }
    }
    for (size_t i = 0; i < vectors.count; ++i) {
      const auto size = static_cast<uint64_t>(vectors.tensors[i].shape[0]);
      place(vectors.names[i], "U8", size, size);
    }
    const std::string text = SafetensorsHeader(header);
    RETURN_IF_ERROR(zip_.Begin(name, text.size() + bytes));
    RETURN_IF_ERROR(zip_.Write(text));
    RETURN_IF_ERROR(zip_.Write(integers));
    for (size_t i = 0; i < vectors.count; ++i) {
      RETURN_IF_ERROR(ReadPieces(
          parts_.devices, vectors.tensors[i],
          [this](absl::string_view piece) { return zip_.Write(piece); }));
    }
    return End(name, text.size() + bytes);
  }

  // Adds the members that only bundles of a whole step have.
  absl::Status AddStep(const graphdbg_tape& tape) {
    level_ = "step";
    Json training = Parsed(subject_.training);
    const Json random = training.value("random", Json::object());
    training.erase("random");
    for (const Json& storage : ops_.value("storages", Json::array())) {
      if (!storage.is_object() || !storage.contains("after")) continue;
      Json boundary = storage["after"];
      boundary["leaf"] = storage["leaf"];
      boundaries_.push_back(std::move(boundary));
    }
    RETURN_IF_ERROR(AddVectors(
        "random.safetensors",
        {tape.random, tape.random_names, tape.random_count}, random));
    return Add("training.json", Dump(training));
  }

  absl::Status AddExpected(const graphdbg_tensor* tensor) {
    const std::string name = "expected.safetensors";
    const absl::string_view dtype =
        tensor == nullptr ? "" : SafetensorsName(tensor->dtype);
    const int64_t bytes = tensor == nullptr ? 0 : BytesOf(*tensor);
    if (dtype.empty()) {
      return Add(name, SafetensorsHeader(Json::object()));
    }
    const std::vector<int64_t> shape(tensor->shape,
                                     tensor->shape + tensor->ndim);
    expected_ = {{"dtype", std::string(dtype)}, {"shape", shape}};
    if (bytes > kMaxExpectedBytes) {
      Sha256 digest;
      RETURN_IF_ERROR(ReadPieces(parts_.devices, *tensor,
                                 [&digest](absl::string_view piece) {
                                   digest.Add(piece);
                                   return absl::OkStatus();
                                 }));
      expected_["sha256"] = digest.Finish();
      return Add(name, SafetensorsHeader(Json::object()));
    }
    const std::string header =
        SafetensorsHeader({{"expected",
                            {{"dtype", std::string(dtype)},
                             {"shape", shape},
                             {"data_offsets", {0, bytes}}}}});
    RETURN_IF_ERROR(zip_.Begin(name, header.size() + bytes));
    RETURN_IF_ERROR(zip_.Write(header));
    RETURN_IF_ERROR(ReadPieces(
        parts_.devices, *tensor,
        [this](absl::string_view piece) { return zip_.Write(piece); }));
    return End(name, header.size() + static_cast<uint64_t>(bytes));
  }

  // The nodes of the tape's ops and of their inputs.
  Json GraphJson() const {
    std::set<uint32_t> ids;
    for (const Json& op : ops_.value("ops", Json::array())) {
      const uint32_t id = parts_.nodes->Find(op.value("node", ""));
      if (id == 0) continue;
      ids.insert(id);
      const v1::Node node = parts_.nodes->NodeOf(id);
      for (const v1::Input& input : node.inputs()) ids.insert(input.node_id());
    }
    ids.erase(0);
    Json nodes = Json::array();
    for (const uint32_t id : ids) nodes.push_back(NodeJson(id));
    return {{"nodes", std::move(nodes)}};
  }

  Json NodeJson(uint32_t id) const {
    const v1::Node node = parts_.nodes->NodeOf(id);
    Json inputs = Json::array();
    for (const v1::Input& input : node.inputs()) {
      if (input.node_id() == 0) continue;
      inputs.push_back(absl::StrCat(parts_.nodes->InfoOf(input.node_id()).name,
                                    ":", input.slot()));
    }
    Json outputs = Json::array();
    for (const v1::Output& output : node.outputs()) {
      outputs.push_back(
          {{"slot", output.slot()},
           {"dtype", output.type().framework_dtype()},
           {"shape", std::vector<int64_t>(output.type().shape().begin(),
                                          output.type().shape().end())}});
    }
    return {{"name", node.name()},
            {"op_type", node.op_type()},
            {"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)}};
  }

  absl::Status AddSources() {
    std::vector<std::string> paths;
    const auto add = [&paths](const std::string& path) {
      if (!path.empty() && path[0] == '/' &&
          std::find(paths.begin(), paths.end(), path) == paths.end()) {
        paths.push_back(path);
      }
    };
    for (const v1::SourceFrame& frame : node_.stack()) {
      if (frame.user()) add(frame.file());
    }
    for (const Json& op : ops_.value("ops", Json::array())) {
      const Json source = op.value("source", Json());
      if (source.is_object()) add(source.value("file", ""));
    }
    for (const std::string& path : paths) {
      if (sources_.size() == kMaxSources) break;
      RETURN_IF_ERROR(AddSource(path));
    }
    return absl::OkStatus();
  }

  absl::Status AddSource(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string content(kMaxSourceBytes + 1, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<size_t>(file.gcount()));
    if (content.empty() || content.size() > kMaxSourceBytes) {
      return absl::OkStatus();
    }
    std::string base = path.substr(path.rfind('/') + 1);
    for (char& c : base) {
      const auto byte = static_cast<unsigned char>(c);
      if (!absl::ascii_isalnum(byte) && c != '.' && c != '_') c = '_';
    }
    const std::string name =
        absl::StrCat("sources/", sources_.size(), "_", base);
    RETURN_IF_ERROR(Add(name, content));
    sources_.push_back({{"member", name}, {"path", path}});
    return absl::OkStatus();
  }

  Json Manifest() const {
    Json stack = Json::array();
    for (const v1::SourceFrame& frame : node_.stack()) {
      stack.push_back(FrameJson(frame));
    }
    Json manifest = {
        {"format", kFormat},         {"level", level_},
        {"graphdbg", kVersion},      {"job", subject_.job},
        {"rank", subject_.rank},     {"world_size", subject_.world_size},
        {"step", subject_.step},     {"node", node_.name()},
        {"slot", subject_.slot},     {"hit", hit_},
        {"stack", std::move(stack)}, {"expected", expected_},
        {"sources", sources_},       {"members", members_}};
    if (level_ == "step") manifest["boundaries"] = boundaries_;
    if (!why_not_step_.empty()) manifest["why_not_step"] = why_not_step_;
    return manifest;
  }

  const BundleWriter::Parts& parts_;
  const BundleSubject& subject_;
  const BundleSettings& settings_;
  ZipWriter zip_;
  Json hit_;
  Json ops_;
  v1::Node node_;
  Json expected_;
  std::string level_ = "op";
  std::string why_not_step_;
  Json boundaries_ = Json::array();
  Json sources_ = Json::array();
  Json members_ = Json::object();
};

}  // namespace

absl::Status BundleWriter::Write(const BundleSubject& subject,
                                 const BundleSettings& settings,
                                 int file) const {
  struct Context {
    Bundle bundle;
    absl::Status status;
  };
  if (!parts_.host->can_capture()) {
    return Fail(absl::StatusCode::kUnimplemented, "unsupported",
                "the ops of this framework cannot be captured");
  }
  Context context{Bundle(parts_, subject, settings, file),
                  absl::InternalError("the program gave no tape")};
  parts_.host->Capture(
      subject.node, subject.slot, settings.upstream,
      [](void* to, const graphdbg_tape* given) {
        auto* const result = static_cast<Context*>(to);
        const graphdbg_tape tape = CopySized(given);
        result->status = tape.error != nullptr
                             ? Fail(absl::StatusCode::kFailedPrecondition,
                                    tape.reason, tape.error)
                             : result->bundle.Write(tape);
      },
      &context);
  return context.status;
}

}  // namespace graphdbg::agent
