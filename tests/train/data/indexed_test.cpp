#include "core/train/data/indexed.h"

#include <sys/resource.h>

#include <csignal>

#include "tests/test.h"
#include "tests/text.h"
#include "tests/train/data/folder.h"

using namespace orch;
using namespace orch::data;

namespace {

const Documents kDocuments{{5, 6, 7}, {}, {8, 65499}};

// The same three documents, made by this program from the description of the format:
//   import struct
//   docs = [[5, 6, 7], [], [8, 65499]]
//   tokens = b"".join(struct.pack("<%dH" % len(d), *d) for d in docs)
//   index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 3, 4) + struct.pack("<3i", 3, 0, 2)
//   index += struct.pack("<3q", 0, 6, 6) + struct.pack("<4q", 0, 1, 2, 3)
//   print(tokens.hex(), index.hex())
const std::string kTokens = "0500060007000800dbff";
const std::string kIndex =
    "4d4d494449445800000100000000000000080300000000000000040000000000000003000000000000000200000000"
    "0000000000000006000000000000000600000000000000000000000000000001000000000000000200000000000000"
    "0"
    "300000000000000";

std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

std::vector<std::int32_t> all_of(const IndexedFile& file, std::int64_t sequence) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(file.size(sequence)));
  file.read(sequence, 0, out);
  return out;
}

template <class T>
std::string with(std::string bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

std::string error_of(const DataFolder& folder, const std::string& index,
                     const std::string& tokens = from_hex(kTokens)) {
  put_bytes(folder.prefix() + ".idx", index);
  put_bytes(folder.prefix() + ".bin", tokens);
  const auto file = IndexedFile::open(folder.prefix());
  return file ? "opened" : text(file.error());
}

int files_in(const DataFolder& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder.root()), {}));
}

}  // namespace

TEST_CASE("both files are to the byte those that the format describes", "[data][indexed]") {
  const DataFolder folder;
  REQUIRE(write(folder.prefix(), kDocuments, TokenDtype::u16));
  CHECK(bytes_in(folder.prefix() + ".bin") == from_hex(kTokens));
  CHECK(bytes_in(folder.prefix() + ".idx") == from_hex(kIndex));
  CHECK(files_in(folder) == 2);
}

TEST_CASE("files of another program are read", "[data][indexed]") {
  const DataFolder folder;
  put_bytes(folder.prefix() + ".idx", from_hex(kIndex));
  put_bytes(folder.prefix() + ".bin", from_hex(kTokens));
  const auto file = IndexedFile::open(folder.prefix());
  REQUIRE(file);
  CHECK(file->documents() == 3);
  CHECK(file->sequences() == 3);
  CHECK(file->tokens() == 5);
  CHECK(name(file->dtype()) == "uint16");
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(all_of(*file, static_cast<std::int64_t>(i)) == kDocuments[i]);
  std::vector<std::int32_t> middle(1);
  file->read(0, 1, middle);
  CHECK(middle.front() == 6);
}

TEST_CASE("every type of whole numbers is read", "[data][indexed]") {
  const DataFolder folder;
  const auto read_one = [&](int code, const std::string& token) {
    const auto head = with(from_hex(kIndex).substr(0, 34), 17, static_cast<char>(code));
    const auto index = with(with(head, 18, std::int64_t{1}), 26, std::int64_t{2}) +
                       with(std::string(4, '\0'), 0, std::int32_t{1}) + std::string(16, '\0') +
                       with(std::string(8, '\0'), 0, std::int64_t{1});
    CHECK(error_of(folder, index, token) == "opened");
    return all_of(*IndexedFile::open(folder.prefix()), 0).front();
  };
  CHECK(read_one(1, "\xfe") == 254);
  CHECK(read_one(2, "\xfe") == -2);
  CHECK(read_one(3, "\xfe\xff") == -2);
  CHECK(read_one(4, std::string("\x01\x02\x03\x04", 4)) == 0x04030201);
  CHECK(read_one(5, std::string("\x07\0\0\0\0\0\0\0", 8)) == 7);
  CHECK(read_one(5, std::string("\x07\0\0\0\x01\0\0\0", 8)) == -1);
  CHECK(read_one(8, "\xfe\xff") == 0xfffe);
}

TEST_CASE("the type is Megatron's choice for a vocabulary", "[data][indexed]") {
  CHECK(dtype_for(65499) == TokenDtype::u16);
  CHECK(dtype_for(65500) == TokenDtype::i32);
}

TEST_CASE("what is wrong with a file is said", "[data][indexed]") {
  const DataFolder folder;
  const auto good = from_hex(kIndex);
  CHECK(error_of(folder, good) == "opened");
  CHECK(has(error_of(folder, ""), "is not an index of Megatron-LM"));
  CHECK(has(error_of(folder, "TNTIDX" + good), "is not an index of Megatron-LM"));
  CHECK(has(error_of(folder, good.substr(0, 20)), "ends within its header"));
  CHECK(has(error_of(folder, with(good, 9, std::int64_t{2})), "has version 2"));
  CHECK(has(error_of(folder, with(good, 17, char{7})), "type 7"));
  CHECK(has(error_of(folder, good.substr(0, good.size() - 1)), "is truncated"));
  CHECK(has(error_of(folder, with(good, 18, std::int64_t{-1})), "is truncated"));
  CHECK(has(error_of(folder, with(good, 26, std::int64_t{1} << 61)), "is truncated"));
  CHECK(has(error_of(folder, good + "x"), "has 1 bytes"));
  CHECK(has(error_of(folder, with(good, 34, std::int32_t{-3})), "sequence 0 has -3 tokens"));
  CHECK(has(error_of(folder, with(good, 34, std::int32_t{6})), "sequence 0 has 6 tokens"));
  CHECK(has(error_of(folder, with(good, 46, std::int64_t{-2})), "from byte -2"));
  CHECK(has(error_of(folder, with(good, 46, std::int64_t{5})), "from byte 5"));
  CHECK(has(error_of(folder, with(good, 46, INT64_MAX)), "sequence 0"));
  CHECK(has(error_of(folder, good, from_hex(kTokens).substr(0, 9)), "has 9 bytes"));
  CHECK(
      has(error_of(folder, with(good, 70 + 8, std::int64_t{4})), "entry 1 of the document index"));
  CHECK(has(error_of(folder, with(good, 70 + 8, std::int64_t{-1})), "entry 1 of the document"));
  fs::remove(folder.prefix() + ".bin");
  CHECK(has(text(IndexedFile::open(folder.prefix()).error()), "text.bin: cannot open"));
}

TEST_CASE("no damage to an index leads outside the files", "[data][indexed]") {
  const DataFolder folder;
  const auto good = from_hex(kIndex);
  std::mt19937 random(3);
  int opened = 0;
  for (int i = 0; i < 3000; ++i) {
    auto bad = good;
    for (unsigned j = 0; j < 1 + random() % 3; ++j)
      bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    put_bytes(folder.prefix() + ".idx", bad);
    put_bytes(folder.prefix() + ".bin", from_hex(kTokens));
    const auto file = IndexedFile::open(folder.prefix());
    if (!file) continue;
    ++opened;
    for (std::int64_t s = 0; s < file->sequences(); ++s) all_of(*file, s);
  }
  CHECK(opened > 0);  // otherwise no file was read
}

TEST_CASE("a writer that is given up leaves nothing, and the old one as it was",
          "[data][indexed]") {
  const DataFolder folder;
  REQUIRE(write(folder.prefix(), {{1}}, TokenDtype::u16));
  {
    auto writer = IndexedWriter::create(folder.prefix(), TokenDtype::u16, true);
    REQUIRE(writer);
    REQUIRE(writer->add(std::vector<std::int32_t>(3'000'000, 2)));
    REQUIRE(writer->end_document());
  }
  CHECK(files_in(folder) == 2);
  CHECK(IndexedFile::open(folder.prefix())->tokens() == 1);
}

TEST_CASE("what is there is replaced only if asked to", "[data][indexed]") {
  const DataFolder folder;
  REQUIRE(write(folder.prefix(), {{1}}, TokenDtype::u16));
  const auto refused = write(folder.prefix(), {{1, 2}}, TokenDtype::u16);
  REQUIRE_FALSE(refused);
  CHECK(has(text(refused.error()), "exists already"));
  CHECK(IndexedFile::open(folder.prefix())->tokens() == 1);
  REQUIRE(write(folder.prefix(), {{1, 2}}, TokenDtype::u16, true));
  CHECK(IndexedFile::open(folder.prefix())->tokens() == 2);
  fs::remove(folder.prefix() + ".idx");  // as after a kill between the two
  CHECK_FALSE(write(folder.prefix(), {{1}}, TokenDtype::u16));
}

TEST_CASE("two writers of one place do not meet", "[data][indexed]") {
  const DataFolder folder;
  {
    const auto first = IndexedWriter::create(folder.prefix(), TokenDtype::u16);
    REQUIRE(first);
    const auto second = IndexedWriter::create(folder.prefix(), TokenDtype::u16);
    REQUIRE_FALSE(second);
    CHECK(has(text(second.error()), "another program is writing to it"));
  }
  put_bytes(folder.prefix() + ".bin.tmp", "left by a kill");
  put_bytes(folder.prefix() + ".idx.tmp", "left by a kill");
  REQUIRE(write(folder.prefix(), {{1}}, TokenDtype::i32));
  CHECK(files_in(folder) == 2);
  CHECK(bytes_in(folder.prefix() + ".bin").size() == 4);
}

TEST_CASE("a file that may not grow is an error, and nothing is left", "[data][indexed]") {
  const DataFolder folder;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit low{1 << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &low);
  const auto status =
      write(folder.prefix(), Documents(4, std::vector<std::int32_t>(500'000, 1)), TokenDtype::u16);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  REQUIRE_FALSE(status);
  CHECK(has(text(status.error()), "File too large"));
  CHECK(files_in(folder) == 0);
}

TEST_CASE("many documents and many tokens keep their places", "[data][indexed]") {
  const DataFolder folder;
  Documents documents;
  for (std::int32_t i = 0; i < 70'000; ++i)  // more than one block of sizes
    documents.push_back(std::vector<std::int32_t>(static_cast<std::size_t>(i % 7), i));
  REQUIRE(write(folder.prefix(), documents, TokenDtype::i32));
  const auto file = IndexedFile::open(folder.prefix());
  REQUIRE(file);
  CHECK(file->documents() == 70'000);
  CHECK(file->tokens() == 210'000);
  bool same = true;
  for (std::size_t i = 0; i < documents.size(); ++i)
    same = same && all_of(*file, static_cast<std::int64_t>(i)) == documents[i];
  CHECK(same);
  CHECK(file->document_begin(70'000) == 70'000);
}
