// expect: after the comparator comes a projection: a pointer to a member
#include <pmpp/select.hpp>

#include <vector>

struct person {
  int age;
};
struct house {
  int number;
};

void keep_one_of_each(std::vector<person>& people) {
  pmpp::unique_copy(pmpp::host, people, people, pmpp::equal_to{}, &house::number);
}
