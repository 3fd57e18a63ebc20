// What test_examples.py does with cyxla.hpp; the file is the program file of the examples.
#include <array>
#include <cstdio>
#include <cyxla/cyxla.hpp>
#include <vector>

using cyxla::array;

template <class Action>
static void refused(Action action) {
  try {
    action();
    std::puts("nothing is wrong");
  } catch (const cyxla::error &error) {
    std::puts(cyxla_status_name(error.status()));
  } catch (const std::invalid_argument &error) {
    const std::string said = error.what();
    std::puts(said.substr(said.find(": ") + 2).c_str());
  }
}

int main(int, char **argv) {
  const cyxla::executable rosenbrock(argv[1]);
  const std::vector<double> zeros(10);
  std::array<double, 10> gradient{};
  std::vector<float> floats(20);
  double value = -1;
  rosenbrock({array(zeros)}, {array(value), array(gradient.data(), gradient.size())});
  std::printf("%g %g\n", value, gradient[9]);
  refused([&] { rosenbrock({}, {array(value), array(gradient)}); });
  refused([&] { rosenbrock({array(zeros)}, {array(value), array(floats)}); });
  refused([&] { rosenbrock({array(zeros)}, {array(value), array(gradient.data(), 9)}); });
  refused([&] { rosenbrock({array(floats)}, {array(value), array(gradient)}); });
  refused([&] { rosenbrock.bind({array(zeros.data(), 9)}, {array(value), array(gradient)}); });
}
