//! Breadth first through everything that a ring in a file may do; and whether all of that comes to rest.

use super::{
    plan::{Plan, Step},
    world::World,
};
use crate::search::fingerprint;
use std::collections::{HashMap, VecDeque};
use support::watchdog;

/// What a search found.
pub struct Found {
    pub states: usize,
    /// What is wrong, and the steps that lead to it.
    pub wrong: Option<String>,
}

/// Searches everything that the plan lets happen. Seen in each state: at most one inside, each token once and where its record
/// says, no token goes on while no participant waits, fencing tokens rise, no machine refuses what comes, no waiter
/// overtaken too often. And of all runs: each one ends, whichever way it takes, and where it ends no participant waits.
pub fn search(name: &str, plan: &Plan) -> Found {
    let mut first = World::new(plan);
    first.normalise();
    let mut known = HashMap::from([(fingerprint(&first), 0_u32)]);
    let mut parents: Vec<(u32, Option<Step>)> = vec![(0, None)];
    let (mut edges, mut steps, mut wrong) = (Vec::new(), Vec::new(), None);
    let mut ahead = VecDeque::from([first.clone()]);
    let mut at = 0_u32;
    'all: while let Some(world) = ahead.pop_front() {
        if at.is_multiple_of(1 << 14) {
            watchdog::sign_of_life();
        }
        world.steps(&mut steps);
        if let (true, Some(who)) = (steps.is_empty(), world.waiting()) {
            wrong = Some((at, None, format!("participant {who} waits, and nothing happens any more")));
            break;
        }
        for step in &steps {
            let mut next = world.clone();
            if let Some(what) = next.take(*step) {
                wrong = Some((at, Some(*step), what));
                break 'all;
            }
            next.normalise();
            let new = u32::try_from(parents.len()).unwrap();
            let to = *known.entry(fingerprint(&next)).or_insert(new);
            if to == new {
                parents.push((at, Some(*step)));
                ahead.push_back(next);
            }
            edges.push((at, to));
        }
        at += 1;
    }
    let wrong = wrong.or_else(|| {
        let circle = a_circle(&edges, parents.len())?;
        let state = *circle.first()?;
        Some((state, None, format!("in a circle of {} states it may go on for ever", circle.len())))
    });
    let wrong = wrong.map(|(state, step, what)| {
        let mut trail: Vec<Step> = step.into_iter().collect();
        let mut back = state;
        while let (before, Some(step)) = parents[back as usize] {
            trail.push(step);
            back = before;
        }
        trail.reverse();
        let mut world = first;
        trail.iter().for_each(|step| drop(world.take(*step)));
        world.steps(&mut steps);
        format!("{what}, after {} steps: {trail:?}, next {steps:?}\n{world:#?}", trail.len())
    });
    let (states, verdict) = (parents.len(), if wrong.is_some() { "wrong" } else { "holds" });
    println!("in a file, {name}: {states} states, {} steps: {verdict}", edges.len());
    Found { states, wrong }
}

/// States that lead round in a circle, if any do: some of those that are left when those that nothing leads to are taken
/// away, again and again.
fn a_circle(edges: &[(u32, u32)], states: usize) -> Option<Vec<u32>> {
    let (mut begins, mut left) = (vec![0_u32; states + 1], vec![0_u32; states]);
    for (from, to) in edges {
        begins[*from as usize + 1] += 1;
        left[*to as usize] += 1;
    }
    (0..states).for_each(|state| begins[state + 1] += begins[state]);
    // Edges are in the order of the states that they come from.
    let mut ahead: Vec<u32> = (0..states as u32).filter(|state| left[*state as usize] == 0).collect();
    while let Some(state) = ahead.pop() {
        let state = state as usize;
        for (_, to) in &edges[begins[state] as usize..begins[state + 1] as usize] {
            left[*to as usize] -= 1;
            if left[*to as usize] == 0 {
                ahead.push(*to);
            }
        }
    }
    // Each that is left is led to by another one that is: back along those, until one comes again.
    let mut before = vec![None; states];
    let is_left = |state: &u32| left[*state as usize] > 0;
    edges
        .iter()
        .filter(|(from, to)| is_left(from) && is_left(to))
        .for_each(|(from, to)| before[*to as usize] = Some(*from));
    let mut circle = vec![(0..states as u32).find(is_left)?];
    while let Some(state) = before[*circle.last()? as usize] {
        if let Some(at) = circle.iter().position(|other| *other == state) {
            let mut circle = circle.split_off(at);
            circle.reverse();
            return Some(circle);
        }
        circle.push(state);
    }
    None
}
