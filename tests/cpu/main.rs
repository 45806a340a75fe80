//! Tests of the CPU backend on cooked fabrics against physical laws, its scalar twin and `f64`
//! oracles. No GPU is needed, except where a test compares both backends.

mod bending;
mod bodies;
mod carry;
mod character;
mod collision;
mod contact;
mod defaults;
mod drape;
mod fibers;
mod free_fall;
mod friction;
mod hold;
mod implicit;
mod layers;
mod multilevel;
mod oracle;
mod pick;
mod second_order;
mod self_collision;
mod speed_limit;
mod thin;
mod triangle_contact;
mod triangle_oracle;
mod untangle;
mod vibration;
mod wide;
mod wind;
mod xpbd;
mod yarns;
