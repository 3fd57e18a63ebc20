! A program file, run from Fortran 2008: neither Python nor a compiler is needed.
!
!   python -m cyxla compile examples.rosenbrock:value_and_gradient --input 'f64[10]' -o rosenbrock.cyxla
!   gfortran examples/fortran/load.f90 $(python -m cyxla config --libs) -o load
!   ./load rosenbrock.cyxla
program load
  use, intrinsic :: iso_c_binding
  implicit none
  type, bind(c) :: cyxla_error
    integer(c_size_t) :: struct_size
    integer(c_int32_t) :: code
    character(kind=c_char) :: message(4084)
  end type
  type, bind(c) :: cyxla_input
    type(c_ptr) :: data
    integer(c_int32_t) :: element_type
    integer(c_size_t) :: size
  end type
  interface
    integer(c_int32_t) function cyxla_load(path, plugin, engine, executable, error) bind(c)
      import :: c_char, c_int32_t, c_ptr, cyxla_error
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: plugin
      integer(c_int32_t), value :: engine
      type(c_ptr), intent(out) :: executable
      type(cyxla_error), intent(inout) :: error
    end function
    integer(c_int32_t) function cyxla_execute(executable, inputs, outputs, flags, error) bind(c)
      import :: c_int32_t, c_ptr, cyxla_error, cyxla_input
      type(c_ptr), value :: executable
      type(cyxla_input), intent(in) :: inputs(*)
      type(c_ptr), intent(in) :: outputs(*)
      integer(c_int32_t), value :: flags
      type(cyxla_error), intent(inout) :: error
    end function
  end interface

  integer(c_int32_t), parameter :: f64 = 12, engine_auto = 0, zero_copy = 1
  type(cyxla_error) :: error
  type(c_ptr) :: rosenbrock
  character(len=4096) :: path
  real(c_double), target :: x(10) = 0.5, value, gradient(10)
  integer :: step
  call get_command_argument(1, path)
  error%struct_size = c_sizeof(error)
  call check(cyxla_load(trim(path) // c_null_char, c_null_ptr, engine_auto, rosenbrock, error))
  do step = 0, 2000
    call check(cyxla_execute(rosenbrock, [cyxla_input(c_loc(x), f64, 10)], &
                             [c_loc(value), c_loc(gradient)], zero_copy, error))
    if (mod(step, 1000) == 0) print '(a, i4, a, f9.6)', 'step ', step, ':', value
    x = x - 1d-3 * gradient
  end do
contains
  subroutine check(status)
    integer(c_int32_t), intent(in) :: status
    if (status == 0) return
    write (*, '(*(a))') error%message(:findloc(error%message, c_null_char, 1) - 1)
    stop 1
  end subroutine
end program
