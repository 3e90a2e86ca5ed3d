#include "agent/adapters/pytorch/tape_text.h"

#include <cmath>
#include <cstdio>

#include "agent/adapters/pytorch/tensor_view.h"

namespace graphdbg::pytorch {
namespace {

std::string FloatText(double value) {
  if (std::isnan(value)) return R"({"number":"nan"})";
  if (std::isinf(value)) {
    return value > 0 ? R"({"number":"inf"})" : R"({"number":"-inf"})";
  }
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", value);
  // Without a point or an exponent, it would be an integer.
  if (std::string_view(text).find_first_of(".e") == std::string_view::npos) {
    return std::string(text) + ".0";
  }
  return text;
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", byte);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string Numbers(const int64_t* first, size_t count) {
  std::string out = "[";
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    out += std::to_string(first[i]);
  }
  return out + ']';
}

std::string ShortDtype(c10::ScalarType type) {
  const std::string name = DtypeOf(type).name;
  return name.rfind("torch.", 0) == 0 ? name.substr(6) : name;
}

std::optional<std::string> ValueText(const c10::IValue& value,
                                     const c10::TypePtr& type) {
  if (value.isNone()) return "null";
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
      return ValueText(value, type->containedType(0));
    case c10::TypeKind::ScalarTypeType:
      if (!value.isInt()) return std::nullopt;
      return "{\"dtype\":" +
             Quoted(ShortDtype(static_cast<c10::ScalarType>(value.toInt()))) +
             "}";
    case c10::TypeKind::LayoutType:
      if (!value.isInt() ||
          value.toInt() != static_cast<int64_t>(c10::Layout::Strided)) {
        return std::nullopt;
      }
      return R"({"layout":"strided"})";
    case c10::TypeKind::MemoryFormatType: {
      constexpr const char* kNames[] = {"contiguous_format", "preserve_format",
                                        "channels_last", "channels_last_3d"};
      if (!value.isInt() || value.toInt() < 0 || value.toInt() > 3) {
        return std::nullopt;
      }
      return std::string("{\"memory_format\":\"") + kNames[value.toInt()] +
             "\"}";
    }
    default:
      break;
  }
  if (value.isBool()) return value.toBool() ? "true" : "false";
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) return FloatText(value.toDouble());
  if (value.isDevice()) {
    return "{\"device\":" + Quoted(value.toDevice().str()) + "}";
  }
  if (value.isString()) {
    return "{\"string\":" + Quoted(value.toStringRef()) + "}";
  }
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return "{\"complex\":[" + FloatText(number.real()) + "," +
           FloatText(number.imag()) + "]}";
  }
  if (value.isList()) {
    const c10::TypePtr element = type->kind() == c10::TypeKind::ListType
                                     ? type->containedType(0)
                                     : c10::TypePtr(c10::IntType::get());
    std::string out = "{\"list\":[";
    for (const c10::IValue& each : value.toListRef()) {
      const auto text = ValueText(each, element);
      if (!text) return std::nullopt;
      if (out.back() != '[') out += ',';
      out += *text;
    }
    return out + "]}";
  }
  return std::nullopt;
}

}  // namespace graphdbg::pytorch
