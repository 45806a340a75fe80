//! Minimal Vulkan: compiles a compute pipeline and queries its statistics. All `unsafe` code of
//! this crate is here.
//!
//! Every call gets structures that are filled in completely and outlive it, handles of the one
//! device of the [`Compiler`], which outlives them, and SPIR-V that naga has validated.
#![expect(unsafe_code, reason = "wgpu cannot open a device that has no memory")]

use std::ffi::{CStr, CString};

use ash::vk;

/// Number of storage and uniform bindings: more than any kernel has.
const BINDINGS: u32 = 9;

/// Device that compiles pipelines and runs nothing.
pub(crate) struct Compiler {
    _entry: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    executables: ash::khr::pipeline_executable_properties::Device,
    family: String,
}

fn text(result: vk::Result) -> String {
    format!("Vulkan: {result}")
}

impl Compiler {
    /// Opens the first device.
    pub(crate) fn new() -> Result<Self, String> {
        // SAFETY: the loader of the system is a Vulkan loader.
        let entry = unsafe { ash::Entry::load() }.map_err(|error| error.to_string())?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let create = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: see the module.
        let instance = unsafe { entry.create_instance(&create, None) }.map_err(text)?;
        // SAFETY: see the module.
        let physical = unsafe { instance.enumerate_physical_devices() }.map_err(text)?;
        let physical = *physical.first().ok_or("no Vulkan device found")?;
        // SAFETY: see the module.
        let properties = unsafe { instance.get_physical_device_properties(physical) };
        let family =
            properties.device_name_as_c_str().map_or("?", |name| name.to_str().unwrap_or("?"));
        // Without a GPU the name is "Null hardware (RADV NAVI21)".
        let inner = family.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        let family = inner.unwrap_or(family).to_owned();
        let extensions = [ash::khr::pipeline_executable_properties::NAME.as_ptr()];
        let mut features = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
            .pipeline_executable_info(true);
        let mut memory_model =
            vk::PhysicalDeviceVulkanMemoryModelFeatures::default().vulkan_memory_model(true);
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let create = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut features)
            .push_next(&mut memory_model);
        // SAFETY: see the module; the name of the extension is a constant.
        let device = unsafe { instance.create_device(physical, &create, None) }.map_err(text)?;
        let executables = ash::khr::pipeline_executable_properties::Device::new(&instance, &device);
        Ok(Self { _entry: entry, instance, device, executables, family })
    }

    /// Name of the device's GPU family.
    pub(crate) fn family(&self) -> &str {
        &self.family
    }

    /// Statistics of the compiler for a kernel, names and values, and its machine code as text.
    pub(crate) fn compile(&self, words: &[u32], entry_point: &str) -> Result<Compiled, String> {
        let device = &self.device;
        let binding = |index: u32| {
            let kind = if index == 0 {
                vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC
            } else {
                vk::DescriptorType::STORAGE_BUFFER
            };
            vk::DescriptorSetLayoutBinding::default()
                .binding(index)
                .descriptor_type(kind)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        let bindings: Vec<_> = (0..BINDINGS).map(binding).collect();
        let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: see the module.
        let sets = [unsafe { device.create_descriptor_set_layout(&create, None) }.map_err(text)?];
        let create = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        // SAFETY: see the module.
        let layout = unsafe { device.create_pipeline_layout(&create, None) }.map_err(text)?;
        let create = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: see the module.
        let module = unsafe { device.create_shader_module(&create, None) }.map_err(text)?;
        let name = CString::new(entry_point).map_err(|error| error.to_string())?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(&name);
        let create = vk::ComputePipelineCreateInfo::default()
            .flags(
                vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
                    | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR,
            )
            .stage(stage)
            .layout(layout);
        // SAFETY: see the module.
        let made =
            unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &[create], None) };
        let pipeline = made.map_err(|(_, result)| text(result))?[0];
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(0);
        // SAFETY: see the module; the pipeline was made with CAPTURE_STATISTICS and has one
        // executable.
        let found =
            unsafe { self.executables.get_pipeline_executable_statistics(&info) }.map_err(text)?;
        let named = found.iter().filter_map(|statistic| {
            let name = CStr::from_bytes_until_nul(bytes_of(&statistic.name)).ok()?.to_str().ok()?;
            // SAFETY: the format says which member of the union is set.
            let value = unsafe {
                match statistic.format {
                    vk::PipelineExecutableStatisticFormatKHR::UINT64 => statistic.value.u64,
                    vk::PipelineExecutableStatisticFormatKHR::INT64 => {
                        u64::try_from(statistic.value.i64).ok()?
                    }
                    _ => return None,
                }
            };
            Some((name.to_owned(), value))
        });
        let statistics = named.collect();
        let assembly = self.assembly(&info)?;
        // SAFETY: nothing uses these objects any more.
        unsafe {
            device.destroy_pipeline(pipeline, None);
            device.destroy_shader_module(module, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_descriptor_set_layout(sets[0], None);
        }
        Ok(Compiled { statistics, assembly })
    }

    /// Machine code of a pipeline as text.
    fn assembly(&self, info: &vk::PipelineExecutableInfoKHR<'_>) -> Result<String, String> {
        let executables = &self.executables;
        // SAFETY: see the module; the pipeline was made with CAPTURE_INTERNAL_REPRESENTATIONS.
        let mut found =
            unsafe { executables.get_pipeline_executable_internal_representations(info) }
                .map_err(text)?;
        // The first call gave names and sizes; the second one fills these buffers.
        let mut texts: Vec<Vec<u8>> = found.iter().map(|it| vec![0; it.data_size]).collect();
        for (representation, bytes) in found.iter_mut().zip(&mut texts) {
            representation.p_data = bytes.as_mut_ptr().cast();
        }
        let mut count = found.len() as u32;
        let query = executables.fp().get_pipeline_executable_internal_representations_khr;
        // SAFETY: see the module; each buffer has the size that the driver asked for.
        unsafe { query(self.device.handle(), info, &mut count, found.as_mut_ptr()) }
            .result()
            .map_err(text)?;
        let is_assembly = |it: &vk::PipelineExecutableInternalRepresentationKHR<'_>| {
            CStr::from_bytes_until_nul(bytes_of(&it.name)).is_ok_and(|name| name == c"Assembly")
        };
        let position = found.iter().position(is_assembly).ok_or("the driver has no assembly")?;
        Ok(String::from_utf8_lossy(&texts[position]).into_owned())
    }
}

/// A kernel as the driver compiles it.
pub(crate) struct Compiled {
    /// Names and values.
    pub(crate) statistics: Vec<(String, u64)>,
    /// Machine code, an instruction a line.
    pub(crate) assembly: String,
}

/// Bytes of an array of C characters.
fn bytes_of<const N: usize>(characters: &[std::ffi::c_char; N]) -> &[u8] {
    // SAFETY: `c_char` is a byte, signed or not.
    unsafe { std::slice::from_raw_parts(characters.as_ptr().cast(), N) }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        // SAFETY: nothing created by them is left.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}
