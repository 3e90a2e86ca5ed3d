// asset_pack ROOT OUT FILE...: packs files below ROOT into one blob: each one
// uncompressed and, if that saves at least 5 %, compressed with gzip and
// brotli.
//
//   uint64 little endian: size of the index in bytes
//   index: JSON [{"path": "/index.html", "type": .., "hash": ..,
//                 "immutable": .., "identity": [offset, size],
//                 "gzip": [..], "br": [..]}, ...]; offsets are relative to
//                 the start of the data
//   data
//
// Read by server/http/assets.cc.
#include <brotli/encode.h>
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

namespace {

namespace fs = std::filesystem;

std::string Gzip(const std::string& data) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, 9,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string out(deflateBound(&stream, data.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(done ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

std::string Brotli(const std::string& data) {
  size_t size = BrotliEncoderMaxCompressedSize(data.size());
  std::string out(size, '\0');
  if (BrotliEncoderCompress(
          BROTLI_MAX_QUALITY, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT,
          data.size(), reinterpret_cast<const uint8_t*>(data.data()), &size,
          reinterpret_cast<uint8_t*>(out.data())) == BROTLI_FALSE) {
    size = 0;
  }
  out.resize(size);
  return out;
}

// FNV-1a, sufficient to detect changes of the content.
std::string Hash(const std::string& data) {
  uint64_t hash = 14695981039346656037ull;
  for (unsigned char c : data) hash = (hash ^ c) * 1099511628211ull;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(hash));
  return text;
}

std::string ContentType(const std::string& extension) {
  static const std::map<std::string, std::string> kTypes = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".mjs", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".json", "application/json"},
      {".map", "application/json"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".ico", "image/x-icon"},
      {".txt", "text/plain; charset=utf-8"},
      {".wasm", "application/wasm"},
      {".webmanifest", "application/manifest+json"},
      {".woff2", "font/woff2"}};
  auto it = kTypes.find(extension);
  return it == kTypes.end() ? "application/octet-stream" : it->second;
}

// Vite puts a hash of the content in names: assets/NAME-HASH.EXT.
bool NameContainsHash(const std::string& path) {
  static const std::regex kHashed("/assets/.*-[A-Za-z0-9_-]{8}\\.[a-z0-9]+");
  return std::regex_match(path, kHashed);
}

class Pack {
 public:
  void Add(const std::string& path, const std::string& content) {
    nlohmann::ordered_json entry = {
        {"path", path},
        {"type", ContentType(fs::path(path).extension().string())},
        {"hash", Hash(content)},
        {"immutable", NameContainsHash(path)},
        {"identity", Append(content)}};
    AddIfSmaller(entry, "gzip", Gzip(content), content.size());
    AddIfSmaller(entry, "br", Brotli(content), content.size());
    index_.push_back(std::move(entry));
  }

  bool Write(const std::string& file) const {
    std::string index = index_.dump();
    uint64_t size = index.size();
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&size), sizeof size);
    out << index << data_;
    out.close();
    return !out.fail();
  }

 private:
  nlohmann::ordered_json Append(const std::string& bytes) {
    nlohmann::ordered_json range = {data_.size(), bytes.size()};
    data_ += bytes;
    return range;
  }

  void AddIfSmaller(nlohmann::ordered_json& entry, const char* encoding,
                    const std::string& bytes, size_t original) {
    if (bytes.empty() || bytes.size() > original - original / 20) return;
    entry[encoding] = Append(bytes);
  }

  nlohmann::ordered_json index_ = nlohmann::ordered_json::array();
  std::string data_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: asset_pack ROOT OUT FILE...\n";
    return 2;
  }
  // Sorted to make the blob independent of the order of arguments.
  std::map<std::string, std::string> files;
  for (int i = 3; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    std::string content((std::istreambuf_iterator<char>(in)), {});
    if (!in) {
      std::cerr << "asset_pack: cannot read " << argv[i] << "\n";
      return 1;
    }
    std::string path =
        fs::path(argv[i]).lexically_relative(argv[1]).generic_string();
    if (path.empty() || path.substr(0, 2) == "..") {
      std::cerr << "asset_pack: " << argv[i] << " is not below " << argv[1]
                << "\n";
      return 1;
    }
    files["/" + path] = std::move(content);
  }
  Pack pack;
  for (const auto& [path, content] : files) pack.Add(path, content);
  if (!pack.Write(argv[2])) {
    std::cerr << "asset_pack: cannot write " << argv[2] << "\n";
    return 1;
  }
  return 0;
}
