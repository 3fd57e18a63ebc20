// A program file, run from Rust: neither Python nor a compiler is needed.
//
//   python -m cyxla compile examples.rosenbrock:value_and_gradient --input 'f64[10]' -o rosenbrock.cyxla
//   rustc examples/rust/load.rs -C link-args="$(python -m cyxla config --libs)" -o load
//   ./load rosenbrock.cyxla
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_void};
use std::ptr;

#[repr(C)]
struct Error {
    struct_size: usize,
    code: i32,
    message: [c_char; 4084],
}

#[repr(C)]
struct Input {
    data: *const c_void,
    element_type: i32,
    size: usize,
}

const F64: i32 = 12;
const ENGINE_AUTO: i32 = 0;
const ZERO_COPY: u32 = 1;

extern "C" {
    fn cyxla_load(path: *const c_char, plugin: *mut c_void, engine: i32, executable: *mut *mut c_void,
        error: *mut Error) -> i32;
    fn cyxla_execute(executable: *mut c_void, inputs: *const Input, outputs: *const *mut c_void,
        flags: u32, error: *mut Error) -> i32;
    fn cyxla_executable_destroy(executable: *mut c_void);
}

/// Calls a function of cyxla; its message is the error.
fn check(call: impl FnOnce(*mut Error) -> i32) -> Result<(), String> {
    let mut error = Error { struct_size: std::mem::size_of::<Error>(), code: 0, message: [0; 4084] };
    match call(&mut error) {
        0 => Ok(()),
        _ => Err(unsafe { CStr::from_ptr(error.message.as_ptr()) }.to_string_lossy().into_owned()),
    }
}

fn main() -> Result<(), String> {
    let path = CString::new(std::env::args().nth(1).ok_or("usage: load FILE")?).unwrap();
    let mut rosenbrock = ptr::null_mut();
    check(|e| unsafe { cyxla_load(path.as_ptr(), ptr::null_mut(), ENGINE_AUTO, &mut rosenbrock, e) })?;
    let (mut x, mut value, mut gradient) = ([0.5f64; 10], 0f64, [0f64; 10]);
    for step in 0..=2000 {
        let input = Input { data: x.as_ptr().cast(), element_type: F64, size: x.len() };
        let outputs = [ptr::addr_of_mut!(value).cast(), gradient.as_mut_ptr().cast::<c_void>()];
        check(|e| unsafe { cyxla_execute(rosenbrock, &input, outputs.as_ptr(), ZERO_COPY, e) })?;
        if step % 1000 == 0 { println!("step {step:4}: {value:.6}") }
        x.iter_mut().zip(gradient).for_each(|(each, slope)| *each -= 1e-3 * slope);
    }
    unsafe { cyxla_executable_destroy(rosenbrock) };
    Ok(())
}
