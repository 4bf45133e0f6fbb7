// What the container that this process runs in allows: the limits of its control groups, as Linux has them (cgroups,
// versions 1 and 2; each limit is the least on the way from the process's own group up to the root that it sees).
//
// Where the groups lie is found out once. Their limits may change while a pod runs, and are read whenever they are
// asked for; that takes some microseconds a file, so who asks sees to it that this is not in every call.
#pragma once

#include <climits>
#include <cstdint>
#include <string>
#include <vector>

namespace minuend {

class Container {
 public:
  // Looks for proc/ and the mounted groups below a root; "" is the system's own.
  explicit Container(const std::string& root);

  // Whole CPUs of the quota, at least 1; INT_MAX without one. 0: a file is there and cannot be read now.
  int cpus() const noexcept;

  // Bytes that the groups may use (SIZE_MAX without a limit), and how many of them are left: files that the system can
  // drop from memory at once count as left, and a group that is over its limit has fewer than 0.
  struct Memory {
    size_t limit = SIZE_MAX;
    int64_t left = INT64_MAX;
  };
  // Returns false, and leaves `memory` as it is, where a file is there and cannot be read now.
  bool read(Memory& memory) const noexcept;

 private:
  struct Group {
    int version;
    std::string folder;
  };
  void add(int version, const char* controller, const std::string& path, const std::string& mounts,
           const std::string& root, std::vector<Group>& to) const;

  std::vector<Group> cpu_, memory_;
};

// The one that this process is in. enter_container() looks for another below a root, for tests.
const Container& container();
void enter_container(const std::string& root);

}  // namespace minuend
