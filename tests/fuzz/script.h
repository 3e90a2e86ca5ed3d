// Reads the input of a fuzz target as a script: bytes, numbers and texts.
#ifndef TESTS_FUZZ_SCRIPT_H_
#define TESTS_FUZZ_SCRIPT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace graphdbg::fuzz {

// Every input is a valid script: whatever is missing at its end is 0 or empty.
class Script {
 public:
  Script(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  bool done() const { return at_ == end_; }

  uint8_t Byte() { return done() ? uint8_t{0} : *at_++; }

  // A varint, so that small numbers are short.
  uint64_t Number() {
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = Byte();
      number |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) break;
    }
    return number;
  }

  // Its length as a number, and its bytes.
  std::string Text() {
    const uint64_t announced = Number();
    const auto size = static_cast<size_t>(
        std::min(announced, static_cast<uint64_t>(end_ - at_)));
    std::string text(reinterpret_cast<const char*>(at_), size);
    at_ += size;
    return text;
  }

 private:
  const uint8_t* at_;
  const uint8_t* const end_;
};

}  // namespace graphdbg::fuzz

#endif  // TESTS_FUZZ_SCRIPT_H_
