/* cyxla for C++17: executables that free themselves, exceptions instead of statuses, and arrays whose element
 * types the compiler tells.
 *
 *     const cyxla::executable energy("energy.cyxla");
 *     std::vector<double> x(10), gradient(10);
 *     double value;
 *     energy({cyxla::array(x)}, {cyxla::array(value), cyxla::array(gradient)});
 *
 * cyxla.h has all the rest, and says what its functions promise. */
#ifndef CYXLA_CYXLA_HPP
#define CYXLA_CYXLA_HPP

#include <cyxla/cyxla.h>

#include <complex>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace cyxla {

/* What a function of cyxla.h has returned. */
class error : public std::runtime_error {
 public:
  explicit error(const cyxla_error &from) : std::runtime_error(from.message), status_(from.code) {}
  int32_t status() const noexcept { return status_; } /* a cyxla_status */

 private:
  int32_t status_;
};

/* The cyxla_element_type of a type of C++. */
template <class T>
struct element_type;

#define CYXLA_ELEMENT_TYPE(type, number) \
  template <>                            \
  struct element_type<type> : std::integral_constant<int32_t, static_cast<int32_t>(number)> {};
CYXLA_ELEMENT_TYPE(bool, CYXLA_PRED)
CYXLA_ELEMENT_TYPE(int8_t, CYXLA_S8)
CYXLA_ELEMENT_TYPE(int16_t, CYXLA_S16)
CYXLA_ELEMENT_TYPE(int32_t, CYXLA_S32)
CYXLA_ELEMENT_TYPE(int64_t, CYXLA_S64)
CYXLA_ELEMENT_TYPE(uint8_t, CYXLA_U8)
CYXLA_ELEMENT_TYPE(uint16_t, CYXLA_U16)
CYXLA_ELEMENT_TYPE(uint32_t, CYXLA_U32)
CYXLA_ELEMENT_TYPE(uint64_t, CYXLA_U64)
CYXLA_ELEMENT_TYPE(float, CYXLA_F32)
CYXLA_ELEMENT_TYPE(double, CYXLA_F64)
CYXLA_ELEMENT_TYPE(std::complex<float>, CYXLA_C64)
CYXLA_ELEMENT_TYPE(std::complex<double>, CYXLA_C128)
#undef CYXLA_ELEMENT_TYPE

/* An input or output of a call: elements that stay the caller's, at `data`. */
struct array : cyxla_input {
  template <class T>
  array(T *elements, size_t count)
      : cyxla_input{elements, element_type<std::remove_const_t<T>>::value, count} {}
  /* A scalar. */
  template <class T, int32_t = element_type<T>::value>
  explicit array(T &scalar) : array(&scalar, 1) {}
  /* A std::vector, or anything else with data() and size(). */
  template <class T, class = decltype(std::declval<T &>().data())>
  explicit array(T &container, int = 0) : array(container.data(), container.size()) {}
};

class executable;

/* A call with its arrays fixed: the fastest way to run again and again.  See cyxla_bind. */
class bound_call {
 public:
  void operator()() {
    cyxla_error failure = CYXLA_ERROR_INIT;
    if (cyxla_bound_call_execute(call_.get(), &failure)) throw error(failure);
  }

 private:
  friend executable;
  struct destroy {
    void operator()(cyxla_bound_call *call) const { cyxla_bound_call_destroy(call); }
  };
  explicit bound_call(cyxla_bound_call *call) : call_(call) {}
  std::unique_ptr<cyxla_bound_call, destroy> call_;
};

class executable {
 public:
  using arrays = std::initializer_list<array>;

  /* Loads a program file, see cyxla_load. */
  explicit executable(const std::string &path, cyxla_plugin *plugin = nullptr,
                      int32_t engine = CYXLA_ENGINE_AUTO) {
    cyxla_error failure = CYXLA_ERROR_INIT;
    cyxla_executable *loaded;
    if (cyxla_load(path.c_str(), plugin, engine, &loaded, &failure)) throw error(failure);
    executable_.reset(loaded);
  }

  /* Takes what any function of cyxla.h has made. */
  explicit executable(cyxla_executable *owned) : executable_(owned) {}

  /* Runs once, on inputs in place where they are aligned to 64: see cyxla_execute. */
  void operator()(arrays inputs, arrays outputs) const {
    const std::vector<void *> addresses = checked(inputs, outputs);
    cyxla_error failure = CYXLA_ERROR_INIT;
    if (cyxla_execute(get(), inputs.begin(), addresses.data(), CYXLA_ZERO_COPY, &failure))
      throw error(failure);
  }

  /* The arrays, and the executable, must stay where they are. */
  bound_call bind(arrays inputs, arrays outputs) const {
    const std::vector<void *> addresses = checked(inputs, outputs);
    cyxla_error failure = CYXLA_ERROR_INIT;
    cyxla_bound_call *call;
    if (cyxla_bind(get(), inputs.begin(), addresses.data(), &call, &failure)) throw error(failure);
    return bound_call(call);
  }

  cyxla_executable_info info() const {
    cyxla_executable_info found{};
    found.struct_size = sizeof found;
    cyxla_executable_get_info(get(), &found);
    return found;
  }

  cyxla_executable *get() const noexcept { return executable_.get(); }

 private:
  struct destroy {
    void operator()(cyxla_executable *owned) const { cyxla_executable_destroy(owned); }
  };

  /* Where the outputs are; C compares the inputs with the signature, and can't the outputs. */
  std::vector<void *> checked(arrays inputs, arrays outputs) const {
    const cyxla_executable_info found = info();
    if (inputs.size() != found.input_count || outputs.size() != found.output_count)
      throw std::invalid_argument(std::string(found.name) + ": wrong number of inputs or outputs");
    std::vector<void *> addresses;
    for (const array &output : outputs) {
      const size_t i = addresses.size();
      if (output.type != found.outputs[i].element_type ||
          output.size * cyxla_element_size(output.type) != found.output_sizes[i])
        throw std::invalid_argument(std::string(found.name) + ": output " + std::to_string(i) +
                                    " has another type or size");
      addresses.push_back(const_cast<void *>(output.data));
    }
    return addresses;
  }

  std::unique_ptr<cyxla_executable, destroy> executable_;
};

}  // namespace cyxla

#endif
